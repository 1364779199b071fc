"""How shares moved: one estimate for each day, or for a few days where a period is long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from rumor_server.queries.cache import Measured
from rumor_server.queries.question import Question, Status
from rumor_server.queries.service import QueryService
from rumor_server.statistics.estimation.comparison import Of, Spread, spread

# A month of days is as much as a panel shows.
_MOST_POINTS = 31
# What a page may estimate for its trend. A row of a closed domain takes some two microseconds; a
# decode is a thousand times slower.
_CLOSED_ROWS = 60_000
_OPEN_ROWS = 12_000


@dataclass(frozen=True)
class Point:
    """The days from `first` to `last`, and what was measured in them."""

    first: date
    last: date
    measured: Measured


@dataclass(frozen=True)
class Trend:
    """Points in order. `revisions` marks the indices of points at which a revision begins."""

    points: tuple[Point, ...]
    days_a_point: int
    revisions: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TrendRow:
    """One value at one point; None where there is no data, or it is withheld.

    `left_out` are reports of these days that revisions with other values have.
    """

    first: date
    last: date
    value: str
    n: int
    status: Status
    frequency: float | None
    std_error: float | None
    low: float | None
    high: float | None
    left_out: int


def measure_trend(
    service: QueryService, question: Question, first: date, last: date, *, least: int = 2
) -> Trend | None:
    """Measure every point from `first` to `last`; None where there would be fewer than `least`."""
    days, most = (last - first).days + 1, points_within(question, first, last)
    if most < least:
        return None
    step = -(-days // most)
    points = []
    for offset in range(0, days, step):
        start = first + timedelta(days=offset)
        # Counted from the first day: the calendar ends with the year 9999.
        end = first + timedelta(days=min(offset + step, days) - 1)
        points.append(Point(start, end, service.measure(question, start, end)))
    return Trend(tuple(points), step, _marks(points))


def points_within(question: Question, first: date, last: date) -> int:
    """Return how many points a trend may have; below 2 there is none."""
    if not question.values:
        return 0
    rows = _OPEN_ROWS if question.is_open else _CLOSED_ROWS
    return min((last - first).days + 1, _MOST_POINTS, rows // len(question.values))


def _marks(points: Sequence[Point]) -> tuple[tuple[int, int], ...]:
    """Return (index, revision) for each point in which a revision newer than the first begins.

    Reports that are left out have a revision too: where the next one begins is marked.
    """
    marks: list[tuple[int, int]] = []
    newest: int | None = None
    for i, point in enumerate(points):
        if point.measured.left_out and not point.measured.revisions:
            newest = max(one.revision for one in point.measured.left_out)
        if point.measured.revisions:
            latest = max(point.measured.revisions)
            if newest is not None and latest > newest:
                marks.append((i, latest))
            newest = max(latest, newest or latest)
    return tuple(marks)


def trend_rows(trend: Trend, values: Sequence[str], wanted: Sequence[str]) -> list[TrendRow]:
    """Return the rows of some of the values, by value and then by time.

    Bands are those of the population that each point's devices were drawn from: they are what the
    points are compared by.
    """
    index = {value: i for i, value in enumerate(values)}
    spreads = [
        spread(point.measured.answer, Of.POPULATION) if point.measured.status is Status.OK else None
        for point in trend.points
    ]
    return [
        _row(point, around, value, index[value])
        for value in wanted
        for point, around in zip(trend.points, spreads, strict=True)
    ]


def _row(point: Point, around: Spread | None, value: str, i: int) -> TrendRow:
    measured = point.measured
    shares: tuple[float | None, float | None] = (None, None)
    bounds = shares
    if around is not None:
        shares = (float(measured.answer.frequency[i]), float(around.std_error[i]))
        bounds = (float(around.low[i]), float(around.high[i]))
    return TrendRow(
        first=point.first,
        last=point.last,
        value=value,
        n=measured.n,
        status=measured.status,
        frequency=shares[0],
        std_error=shares[1],
        low=bounds[0],
        high=bounds[1],
        left_out=sum(one.n for one in measured.left_out),
    )
