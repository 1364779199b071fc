"""Reports by day, and how many devices they can be of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from rumor_server.http.dashboard.formats import count, short_day
from rumor_server.storage.store import Store
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

# Four weeks show a weekly rhythm, and are still bars that one can see.
SPARKLINE_DAYS = 28
# A device that reported more often than this a day would be counted in a budget of thousands.
_MOST_REPORTS = 10_000


@dataclass(frozen=True)
class Activity:
    """Reports of the last days, the last of them `today`; `devices` says of how many devices."""

    reports: tuple[int, ...]
    today: int
    devices: str
    bars: tuple[tuple[float, float, float], ...]
    summary: str


def activity(
    store: Store, revisions: Sequence[Metric], registry: Registry, today: date
) -> Activity:
    """Return a metric's reports of the last `SPARKLINE_DAYS` days, all its revisions together.

    `bars` are x, width and height in percent of the sparkline.
    """
    first = today - timedelta(days=SPARKLINE_DAYS - 1)
    reports = reports_by_day(store, revisions, first, today)
    best = max(reports)
    step = 100 / len(reports)
    bars = tuple(
        (round(i * step, 2), round(step * 0.72, 2), max(round(number / best * 100, 1), 4.0))
        for i, number in enumerate(reports)
        if number
    )
    summary = f"Reports of the last {SPARKLINE_DAYS} days: none"
    if best:
        busiest = first + timedelta(days=reports.index(best))
        summary = (
            f"Reports of the last {SPARKLINE_DAYS} days: {count(sum(reports))}, at most "
            f"{count(best)} a day (on {short_day(busiest)}), {count(reports[-1])} today"
        )
    return Activity(
        tuple(reports),
        reports[-1],
        devices_text(reports[-1], revisions[-1], registry),
        bars,
        summary,
    )


def reports_by_day(
    store: Store, metrics: Sequence[Metric], first: date, last: date
) -> tuple[int, ...]:
    """Return how many reports each day from `first` to `last` has, over all of `metrics`."""
    bounds = store.days(metrics[0].name)
    days = [first + timedelta(days=i) for i in range((last - first).days + 1)]
    return tuple(
        sum(store.tally(metric, day, day).n for metric in metrics)
        if bounds and bounds[0] <= day <= bounds[1]
        else 0
        for day in days
    )


def reports_a_day(metric: Metric, registry: Registry) -> int:
    """Return how many reports of a metric one device may make a day, by what they cost."""
    cap = min(metric.daily_epsilon, registry.daily_epsilon)
    low, high = 0, _MOST_REPORTS
    while low < high:
        middle = (low + high + 1) // 2
        if metric.mechanism.epsilon_day(middle) <= cap:
            low = middle
        else:
            high = middle - 1
    return low


def devices_text(reports: int, metric: Metric, registry: Registry) -> str:
    """Return of how many devices a day's reports can be: known only as far as budgets say."""
    most = max(reports_a_day(metric, registry), 1)
    if most == 1 or not reports:
        return count(reports)
    return f"{count(-(-reports // most))} to {count(reports)}"
