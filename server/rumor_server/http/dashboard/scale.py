"""Axes: round ticks for shares and counts, and where a number lies between them in percent.

Charts place things by percent of their width and by pixels of their height: text keeps its size on
a phone and on a desk, without script.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
