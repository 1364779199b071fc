"""Axes, and horizontal bars with error bars around zero: estimates, or changes of two periods.

Charts place things by percent of their width and by pixels of their height: text keeps its size on
a phone and on a desk, without script.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rumor_server.http.dashboard.formats import MINUS

# A phone has room for this many labels under an axis.
_MOST_TICKS = 6
# Half the width of a label on a phone, in percent of a chart.
_EDGE = 4
# Narrower than this an axis would magnify noise below a millionth.
_LEAST_SPAN = 1e-6


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`. `high` is a tick; so is `low`, unless it is below 0."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Return where `value` lies, in percent of the axis, kept within it."""
        share = (value - self.low) / (self.high - self.low)
        return round(min(max(share, 0.0), 1.0) * 100, 3)


def nice_scale(low: float, high: float, most_ticks: int) -> Scale:
    """Return an axis that holds 0, `low` and `high`, with at most `most_ticks` round ticks.

    Steps are 1, 2 or 5 times a power of ten (Heckbert, Graphics Gems 1990). Noise just below 0 gets
    the room it needs and not a whole step.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    if high - low < _LEAST_SPAN:
        high = low + _LEAST_SPAN
    power = 10.0 ** math.floor(math.log10((high - low) / most_ticks))
    for step in (power * factor for factor in (1, 2, 5, 10, 20, 50)):
        first, last = math.ceil(low / step - 1e-9), math.ceil(high / step - 1e-9)
        if last - first + 1 <= most_ticks:
            break
    ticks = tuple(round(i * step, 12) + 0.0 for i in range(first, last + 1))
    return Scale(min(low, ticks[0]), max(high, ticks[-1]), ticks)


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
