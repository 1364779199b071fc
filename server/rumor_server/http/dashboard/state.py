"""What state a metric is in, in a word and a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from rumor_server.http.dashboard.formats import day, plural
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry


@dataclass(frozen=True)
class State:
    """`kind` is one of collecting, waiting, withheld, expired, withdrawn: the template's colour."""

    kind: str
    word: str
    sentence: str


def state_of(metric: Metric, registry: Registry, today: date, reports: int) -> State:
    """Return the state of a metric's newest revision with `reports` counted reports."""
    if metric.name not in registry.metrics:
        return State(
            "withdrawn",
            "Withdrawn",
            "The registry no longer asks this; what was counted is still explained.",
        )
    if metric.expired(today):
        return State(
            "expired",
            "Expired",
            f"Its last day was {day(metric.expires)}; reports of later days are refused.",
        )
    if not reports:
        return State("waiting", "No reports yet", "It is being asked; no report was counted yet.")
    if metric.min_reports > 1 and reports < metric.min_reports:
        return State(
            "withheld",
            "Withheld",
            f"{plural(metric.min_reports - reports, 'report')} of {metric.min_reports:,} are "
            "missing before anything is shown.",
        )
    return State("collecting", "Collecting", f"Reports are taken until {day(metric.expires)}.")
