"""Horizontal bars with error bars around zero: raw estimates, or changes between two periods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rumor_server.http.dashboard.formats import MINUS
from rumor_server.http.dashboard.scale import Scale, nice_scale

# A phone has room for this many labels under an axis.
_MOST_TICKS = 6
# Half the width of a label on a phone, in percent of a chart.
_EDGE = 4


@dataclass(frozen=True)
class Bar:
    """One value to draw; shares of 1. `marked` bars are solid, others hatched."""

    label: str
    share: float
    low: float
    high: float
    marked: bool
    text: str
    interval: str
    hint: str
    second: float | None = None


@dataclass(frozen=True)
class DrawnBar:
    """A bar in percent of the chart's width. `second` is a tick beside the bar."""

    bar: Bar
    x: float
    width: float
    low: float
    high: float
    second: float | None


@dataclass(frozen=True)
class Tick:
    """A grid line: where in percent of the axis, and its label."""

    x: float
    label: str

    @property
    def anchor(self) -> str:
        """How the label is anchored so that it stays inside the chart."""
        return "start" if self.x < _EDGE else "end" if self.x > 100 - _EDGE else "middle"


@dataclass(frozen=True)
class BarChart:
    """What the template draws. `zero` is where the bars begin."""

    bars: tuple[DrawnBar, ...]
    ticks: tuple[Tick, ...]
    zero: float


def bar_chart(bars: Sequence[Bar], unit: str) -> BarChart:
    """Lay out bars on one axis that holds every interval."""
    ends = [0.0, *(edge for bar in bars for edge in (bar.low, bar.high, bar.share))]
    scale = nice_scale(min(ends), max(ends), _MOST_TICKS)
    zero = scale.at(0)
    return BarChart(tuple(_draw(bar, scale, zero) for bar in bars), ticks(scale, unit), zero)


def _draw(bar: Bar, scale: Scale, zero: float) -> DrawnBar:
    end = scale.at(bar.share)
    return DrawnBar(
        bar=bar,
        x=min(end, zero),
        width=round(abs(end - zero), 3),
        low=scale.at(bar.low),
        high=scale.at(bar.high),
        second=None if bar.second is None else scale.at(bar.second),
    )


def ticks(scale: Scale, unit: str) -> tuple[Tick, ...]:
    """Return the grid of a scale of shares; labels at the edges stay inside the chart."""
    return tuple(
        Tick(scale.at(value), _label(value) + (unit if value == scale.ticks[-1] else ""))
        for value in scale.ticks
    )


def _label(share: float) -> str:
    return f"{share * 100:.10g}".replace("-", MINUS)
