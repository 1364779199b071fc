"""Templates, what they may call, and the packaged files that their pages load."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rumor_server.http.dashboard import formats, page_charts, words
from rumor_server.http.dashboard.contents import MetricPage, MetricsPage
from rumor_server.http.dashboard.links import Links
from rumor_server.queries.candidate_lists import MAX_CANDIDATES
from rumor_server.queries.comparison import Of
from rumor_server.queries.question import Status
from rumor_shared.epsilon import MICRO
from rumor_shared.version import __version__

STATIC = {"dashboard.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}
# The fields of the form that brings candidates.
FILE = "file"
TEXTS = "texts"
# What the form offers; an address may ask for others.
_ALPHAS = (0.1, 0.05, 0.01)
_TOPS = (10, 20, 50, 100)


@cache
def static_file(name: str) -> bytes:
    """Return a packaged file that pages load; `name` is one of `STATIC`."""
    return files("rumor_server.http.dashboard").joinpath("static", name).read_bytes()


@cache
def static_tag(name: str) -> str:
    """Return what an address of a packaged file ends in, so that it may be kept for ever."""
    return hashlib.sha256(static_file(name)).hexdigest()[:12]


_ENVIRONMENT = Environment(
    loader=PackageLoader("rumor_server.http.dashboard"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    count=formats.count,
    day=formats.day,
    percent=formats.percent,
    signed=formats.signed,
    probability=formats.probability,
    epsilon=lambda micro: formats.epsilon_text(micro / MICRO),
    devices=words.devices_words,
    activity=words.activity_words,
    follows=words.follows_words,
    left_out=words.left_out_words,
    population=words.population_words,
    sparkline=words.sparkline_bars,
)
_ENVIRONMENT.globals.update(
    plural=formats.plural,
    period=formats.period,
    static_tag=static_tag,
    version=__version__,
    Status=Status,
    Of=Of,
)


def render_metrics(page: MetricsPage, base: str) -> str:
    """Return the front page."""
    return _render("metrics.html", base, page=page)


def render_metric(page: MetricPage, base: str, *, problem: str | None = None) -> str:
    """Return the page of a metric; `problem` is what was wrong with an upload."""
    decimals = formats.decimals_for(page.measured.std_errors)
    top = page.top_rows()
    chart = page_charts.values_chart(page, top, decimals)
    changes = page_charts.changes(page)
    links = Links(page, base)
    return _render(
        "metric.html",
        base,
        page=page,
        view=page.view,
        problem=problem,
        decimals=decimals,
        top=top,
        chart=chart,
        chart_label=page_charts.values_label(chart),
        table=page.table(),
        panels=page_charts.panels(page, decimals),
        trend_table=page_charts.trend_table(page),
        changes=changes,
        changes_chart=page_charts.changes_chart(changes) if changes else None,
        unexplained_words=words.unexplained_words(page.measured),
        links=links,
        link=links.to,
        alphas=sorted({*_ALPHAS, page.view.alpha}, reverse=True),
        tops=sorted({*_TOPS, page.view.top}),
        max_candidates=MAX_CANDIDATES,
        FILE=FILE,
        TEXTS=TEXTS,
    )


def render_problem(status: int, title: str, detail: str, base: str) -> str:
    """Return the page of an error."""
    return _render("problem.html", base, status=status, title=title, detail=detail)


def _render(template: str, base: str, **values: Any) -> str:
    return _ENVIRONMENT.get_template(template).render(base=base, **values)
