"""Shuffling's central epsilon against Apple's code and against the closed form (Y10)."""

from __future__ import annotations

from collections.abc import Iterator

from rumor_simulations.shuffling import amplified, closed_form
from rumor_simulations.yardsticks.yardstick import Yardstick

# apple/ml-shuffling-amplification, README: n = 10^5, epsilon 4, delta 1e-6.
_LOW, _HIGH = 0.1675385583, 0.1727905508
_CLOSED = 0.5378040242


def measure_shuffling() -> Iterator[Yardstick]:
    """Yield Y10."""
    what = "central epsilon of 10^5 shuffled reports, epsilon 4, delta 1e-6"
    middle = (_LOW + _HIGH) / 2
    bracket = f"{what}: numeric (published: from {_LOW:.5f} to {_HIGH:.5f})"
    yield Yardstick("Y10", bracket, middle, middle, amplified(4, 10**5, 1e-6), 0, 3)
    closed = closed_form(4, 10**5, 1e-6) or 0.0
    yield Yardstick("Y10", f"{what}: closed form", _CLOSED, _CLOSED, closed, 0, 9)
