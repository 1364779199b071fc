"""How a metric does: its state, its reports by day, and of how many devices they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from rumor_server.queries.privacy import reports_a_day
from rumor_server.queries.service import QueryService
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

# Four weeks show a weekly rhythm, and are still bars that one can see.
ACTIVITY_DAYS = 28


class State(StrEnum):
    """Whether a metric is being asked, and whether anything is told of it."""

    COLLECTING = "collecting"
    WAITING = "waiting"
    WITHHELD = "withheld"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Activity:
    """Reports of the last days by day, the last of them `today`, of `devices` devices at least and
    at most.
    """

    first: date
    reports: tuple[int, ...]
    devices: tuple[int, int]

    @property
    def today(self) -> int:
        """Reports of the last day."""
        return self.reports[-1]


def activity_of(
    service: QueryService, revisions: Sequence[Metric], registry: Registry, today: date
) -> Activity:
    """Return a metric's reports of the last `ACTIVITY_DAYS` days, all its revisions together."""
    first = today - timedelta(days=ACTIVITY_DAYS - 1)
    bounds = service.days(revisions)
    days = [first + timedelta(days=i) for i in range(ACTIVITY_DAYS)]
    reports = tuple(
        service.reports(revisions, day, day) if bounds and bounds[0] <= day <= bounds[1] else 0
        for day in days
    )
    # Known only as far as budgets say.
    least = -(-reports[-1] // max(reports_a_day(revisions[-1], registry), 1))
    return Activity(first, reports, (least, reports[-1]))


def state_of(metric: Metric, registry: Registry, today: date, reports: int) -> State:
    """Return the state of a metric's newest revision with `reports` counted reports."""
    if metric.name not in registry.metrics:
        return State.WITHDRAWN
    if metric.expired(today):
        return State.EXPIRED
    if not reports:
        return State.WAITING
    if metric.min_reports > 1 and reports < metric.min_reports:
        return State.WITHHELD
    return State.COLLECTING
