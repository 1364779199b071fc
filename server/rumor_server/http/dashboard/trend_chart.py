"""Small panels, one a value: a line, the band of its interval, and marks where a revision began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rumor_server.http.dashboard.bar_chart import Scale, Tick, nice_scale, ticks
from rumor_server.http.dashboard.formats import count, percent, period, short_day
from rumor_server.queries.trend import Trend, TrendRow

_MOST_TICKS = 4


@dataclass(frozen=True)
class Dot:
    """One estimate: x and y in percent from the left and the top, and its words."""

    x: float
    y: float
    text: str
    left: float
    width: float


@dataclass(frozen=True)
class Panel:
    """A value's panel. `lines` and `bands` are SVG points in a box of 100 by 100, y downwards.

    A gap without data ends a line and a band. `ticks` have x as percent from the bottom.
    """

    value: str
    latest: str
    summary: str
    dots: tuple[Dot, ...]
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    ticks: tuple[Tick, ...]
    marks: tuple[tuple[float, int], ...]
    start: str
    end: str


def panel(trend: Trend, rows: Sequence[TrendRow], decimals: int) -> Panel:
    """Lay out the rows of one value, one for each point of the trend."""
    known = [row for row in rows if row.frequency is not None]
    edges = [edge for row in known for edge in (row.low, row.high) if edge is not None]
    scale = nice_scale(min(edges, default=0.0), max(edges, default=0.0), _MOST_TICKS)
    width = 100 / len(rows)
    dots, runs = _place(rows, scale, width, decimals)
    latest = _share(known[-1], decimals) if known else "no data"
    return Panel(
        value=rows[0].value,
        latest=latest,
        summary=_summary(rows, known, decimals),
        dots=dots,
        lines=tuple(" ".join(f"{x},{y}" for x, y, _, _ in run) for run in runs if len(run) > 1),
        bands=tuple(_band(run, width) for run in runs),
        ticks=ticks(scale, "%"),
        marks=tuple((round(i * width, 2), revision) for i, revision in trend.revisions),
        start=short_day(rows[0].first),
        end=short_day(rows[-1].last),
    )


Run = list[tuple[float, float, float, float]]


def _place(
    rows: Sequence[TrendRow], scale: Scale, width: float, decimals: int
) -> tuple[tuple[Dot, ...], list[Run]]:
    """Return the dots, and the runs of (x, y, y of low, y of high) without a gap."""
    dots: list[Dot] = []
    placed: list[tuple[bool, tuple[float, float, float, float]]] = []
    for i, row in enumerate(rows):
        x = round((i + 0.5) * width, 2)
        if row.frequency is None or row.low is None or row.high is None:
            placed.append((False, (x, 0.0, 0.0, 0.0)))
            continue
        y, low, high = (
            round(100 - scale.at(share), 2) for share in (row.frequency, row.low, row.high)
        )
        placed.append((True, (x, y, low, high)))
        text = f"{period(row.first, row.last)}: {_share(row, decimals)}, {count(row.n)} reports"
        dots.append(Dot(x, y, text, round(i * width, 2), round(width, 2)))
    runs = [
        [place for _, place in group]
        for known, group in groupby(placed, key=lambda pair: pair[0])
        if known
    ]
    return tuple(dots), runs


def _band(run: Run, width: float) -> str:
    """Return the polygon around a run; a lone point gets a band as wide as its days."""
    if len(run) == 1:
        x, y, low, high = run[0]
        half = width * 0.3
        run = [(round(x - half, 2), y, low, high), (round(x + half, 2), y, low, high)]
    upper = [f"{x},{high}" for x, _, _, high in run]
    lower = [f"{x},{low}" for x, _, low, _ in reversed(run)]
    return " ".join(upper + lower)


def _share(row: TrendRow, decimals: int) -> str:
    if row.frequency is None or row.low is None or row.high is None:
        return "no data"
    return (
        f"{percent(row.frequency, decimals)}% "
        f"({percent(row.low, decimals)} to {percent(row.high, decimals)})"
    )


def _summary(rows: Sequence[TrendRow], known: Sequence[TrendRow], decimals: int) -> str:
    where = f"{len(rows)} points from {short_day(rows[0].first)} to {short_day(rows[-1].last)}"
    if not known:
        return f"{where}: no data"
    return (
        f"{where}: first {_share(known[0], decimals)}, last {_share(known[-1], decimals)}. "
        "All numbers are in the CSV file of this trend."
    )
