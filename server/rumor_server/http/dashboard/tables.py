"""The same pages for programs: CSV, whose columns carry the uncertainty, and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from rumor_server.errors import BadRequest
from rumor_server.http.dashboard.contents import MetricCard, MetricPage, MetricsPage
from rumor_server.http.dashboard.view import Part
from rumor_server.http.dashboard.words import devices_words
from rumor_server.queries.comparison import ChangeRow
from rumor_server.queries.precision import unexplained_means
from rumor_server.queries.rows import as_csv, as_json, rows_csv
from rumor_server.queries.trend import TrendRow
from rumor_shared.epsilon import MICRO
from rumor_shared.metric import Metric


def metric_csv(page: MetricPage) -> str:
    """Return the part of a page that its view asks for.

    Raises BadRequest for a comparison without a second period.
    """
    match page.view.part:
        case Part.VALUES:
            return rows_csv(page.all_rows(), page.scope)
        case Part.TREND:
            return _table(TrendRow, page.trend_rows)
        case Part.COMPARISON:
            if page.comparison is None:
                raise BadRequest("query.part: a comparison needs `compare_from` and `compare_to`")
            return _table(ChangeRow, page.comparison.rows or ())


def metric_json(page: MetricPage) -> str:
    """Return all parts of a page."""
    measured, metric = page.measured, page.metric
    unexplained, unexplained_error = measured.unexplained or (None, None)
    document: dict[str, Any] = {
        "metric": metric.name,
        "question": metric.question,
        "status": measured.status,
        "n": measured.n,
        "min_reports": metric.min_reports,
        "min_new_reports": metric.min_new_reports,
        "missing": measured.missing,
        "first_day": page.first,
        "last_day": page.last,
        "alpha": page.view.alpha,
        "candidates": page.view.candidates,
        "revisions": measured.revisions,
        "left_out": [metric.revision for metric in page.question.left_out],
        "left_out_reports": [asdict(one) for one in measured.left_out],
        "since": page.bounds and page.bounds[0],
        "population": measured.population,
        "follows": metric.mechanism.max_values if metric.mechanism.memoised else None,
        "reports_for_10_points": page.reports_for_10_points,
        "unexplained": unexplained,
        "unexplained_std_error": unexplained_error,
        "unexplained_means": unexplained_means(measured),
        "odd_candidates": [asdict(one) for one in page.odd_candidates],
        "epsilon": _plain(metric.mechanism.epsilon_report),
        "mechanism": metric.mechanism.name,
        "revision": metric.revision,
        "headline": page.headline,
        "rows": [row.model_dump() for row in page.all_rows()],
        "trend": [asdict(row) for row in page.trend_rows],
        "comparison": _comparison(page),
        "privacy": asdict(page.card),
        "authenticity": [one.model_dump() for one in page.authenticity],
    }
    return as_json(document)


def metrics_csv(page: MetricsPage) -> str:
    """Return one row a metric."""
    rows = [_card(card) for card in page.cards]
    return as_csv(list(rows[0]), rows)


def metrics_json(page: MetricsPage) -> str:
    """Return the list of metrics."""
    return as_json(
        {
            "day": page.today,
            "registry": page.sha256,
            "daily_epsilon": page.daily_epsilon,
            "metrics": [
                _card(card) | {"reports_by_day": card.activity.reports} for card in page.cards
            ],
        }
    )


def _comparison(page: MetricPage) -> dict[str, Any] | None:
    comparison = page.comparison
    if comparison is None:
        return None
    return {
        "first_day": comparison.first,
        "last_day": comparison.last,
        "status": comparison.before.status,
        "n": comparison.before.n,
        "left_out_reports": [asdict(one) for one in comparison.before.left_out],
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
        "devices_today": devices_words(card.activity),
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


def _table(kind: type[TrendRow] | type[ChangeRow], rows: Sequence[TrendRow | ChangeRow]) -> str:
    return as_csv([field.name for field in fields(kind)], (asdict(row) for row in rows))
