"""The same pages for programs: CSV, whose columns carry the uncertainty, and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from rumor_server.errors import BadRequest
from rumor_server.http.dashboard.changes import ChangeRow
from rumor_server.http.dashboard.metric_page import MetricPage
from rumor_server.http.dashboard.metrics_page import MetricCard, MetricsPage
from rumor_server.http.dashboard.trend import TrendRow
from rumor_server.http.dashboard.value_table import ValueRow, all_rows
from rumor_server.http.dashboard.view import Part
from rumor_server.queries.service import Status, defused
from rumor_shared.epsilon import MICRO
from rumor_shared.metric import Metric

# What every row of values says of its metric, after its own numbers; as in the API's CSV.
_METRIC_COLUMNS = ("n", "epsilon", "mechanism", "revision")


def metric_csv(page: MetricPage) -> str:
    """Return the part of a page that its view asks for.

    Raises BadRequest for a comparison without a second period.
    """
    match page.view.part:
        case Part.VALUES:
            head = [field.name for field in fields(ValueRow)]
            own = _metric_columns(page)
            return _csv(
                [*head, *_METRIC_COLUMNS],
                (
                    [*(getattr(row, name) for name in head), *own.values()]
                    for row in all_rows(page.measured, page.view)
                ),
            )
        case Part.TREND:
            return _table(TrendRow, page.trend_rows)
        case Part.COMPARISON:
            if page.comparison is None:
                raise BadRequest("query.part: a comparison needs `compare_from` and `compare_to`")
            return _table(ChangeRow, page.comparison.rows or ())


def metric_json(page: MetricPage) -> str:
    """Return all parts of a page."""
    measured = page.measured
    estimates = measured.estimates
    known = measured.status is Status.OK
    document: dict[str, Any] = {
        "metric": page.metric.name,
        "question": page.metric.question,
        "status": measured.status,
        "n": measured.n,
        "min_reports": page.metric.min_reports,
        "missing": measured.missing,
        "first_day": page.first,
        "last_day": page.last,
        "alpha": page.view.alpha,
        "candidates": page.view.candidates,
        "revisions": measured.revisions,
        "left_out": [metric.revision for metric in page.question.left_out],
        "unexplained": estimates.unexplained if known else None,
        "unexplained_std_error": estimates.unexplained_std_error if known else None,
        **_metric_columns(page),
        "rows": [asdict(row) for row in all_rows(measured, page.view)],
        "trend": [asdict(row) for row in page.trend_rows],
        "comparison": _comparison(page),
        "privacy": asdict(page.card),
        "authenticity": [one.model_dump() for one in page.authenticity],
    }
    return _json(document)


def metrics_csv(page: MetricsPage) -> str:
    """Return one row a metric."""
    rows = [_card(card) for card in page.cards]
    return _csv(list(rows[0]), (list(row.values()) for row in rows))


def metrics_json(page: MetricsPage) -> str:
    """Return the list of metrics."""
    return _json(
        {
            "day": page.today,
            "registry": page.sha256,
            "daily_epsilon": page.daily_epsilon,
            "metrics": [
                _card(card) | {"reports_by_day": card.activity.reports} for card in page.cards
            ],
        }
    )


def _metric_columns(page: MetricPage) -> dict[str, Any]:
    metric = page.metric
    return {
        "n": page.measured.n,
        "epsilon": _plain(metric.mechanism.epsilon_report),
        "mechanism": metric.mechanism.name,
        "revision": metric.revision,
    }


def _comparison(page: MetricPage) -> dict[str, Any] | None:
    comparison = page.comparison
    if comparison is None:
        return None
    return {
        "first_day": comparison.first,
        "last_day": comparison.last,
        "status": comparison.before.status,
        "n": comparison.before.n,
        "rows": [asdict(row) for row in comparison.rows or ()],
    }


def _card(card: MetricCard) -> dict[str, Any]:
    metric: Metric = card.metric
    return {
        "metric": metric.name,
        "question": metric.question,
        "state": card.state.kind,
        "reports": card.reports,
        "reports_today": card.activity.today,
        "devices_today": card.activity.devices,
        "mechanism": metric.mechanism.name,
        "revision": metric.revision,
        "epsilon_report": _plain(metric.mechanism.epsilon_report),
        "daily_epsilon": _plain(metric.daily_epsilon),
        "owner": metric.owner,
        "purpose": metric.purpose,
        "expires": metric.expires,
    }


def _plain(micro: int) -> float:
    return micro / MICRO


def _table(kind: type[TrendRow] | type[ChangeRow], rows: Sequence[Any]) -> str:
    head = [field.name for field in fields(kind)]
    return _csv(head, ([getattr(row, name) for name in head] for row in rows))


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    # Texts of ours are the values that analysts brought; a spreadsheet would run some of them.
    writer.writerows([_cell(x) for x in row] for row in rows)
    return out.getvalue()


def _cell(given: Any) -> Any:
    if isinstance(given, bool):
        return "true" if given else "false"
    return defused(given) if type(given) is str else given


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, ensure_ascii=False, default=str)
