"""Probabilities as integers over 2**64, rounded where the caller says.

A mechanism rounds towards its other input's probability ("the private direction"), so that the
ratio it really has never exceeds the one it was asked for.
"""

from __future__ import annotations

from math import ceil, floor

# Type checkers take this name as true; a device draws without ever making a fraction.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from fractions import Fraction

BITS = 64
ONE = 1 << BITS
HALF = ONE >> 1


def round_down(probability: Fraction) -> int:
    """Return the largest integer n with n / 2**64 <= probability."""
    return floor(probability * ONE)


def round_up(probability: Fraction) -> int:
    """Return the smallest integer n with n / 2**64 >= probability."""
    return ceil(probability * ONE)


def as_fraction(numerator: int) -> Fraction:
    """Return the probability numerator / 2**64 as an exact fraction."""
    from fractions import Fraction

    return Fraction(numerator, ONE)
