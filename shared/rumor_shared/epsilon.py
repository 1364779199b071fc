"""Micro-epsilon: privacy loss as integers, from exact ratios, always rounded up.

A privacy ratio is a `Fraction`; its loss is the natural logarithm, charged as an integer number of
millionths. Logarithms and exponentials go through `decimal`, whose `ln` and `exp` are correctly
rounded, in 60-digit arithmetic with one unit in the last place added in the safe direction.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

MICRO = 1_000_000
DECIMALS = 6

# 60 digits: the contract asks for 50, and ten more keep every intermediate step below the bound.
_PRECISION = 60
_NEAREST = Context(prec=_PRECISION)
_DOWN = Context(prec=_PRECISION, rounding=ROUND_FLOOR)
_UP = Context(prec=_PRECISION, rounding=ROUND_CEILING)


def exp_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals that enclose e**exponent, less than 1e-57 apart relatively."""
    if exponent == 0:
        return Fraction(1), Fraction(1)
    low = _DOWN.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    high = _UP.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return (
        Fraction(_NEAREST.next_minus(_NEAREST.exp(low))),
        Fraction(_NEAREST.next_plus(_NEAREST.exp(high))),
    )


def ln_bounds(ratio: Fraction) -> tuple[Decimal, Decimal]:
    """Return decimals that enclose ln(ratio), less than 1e-57 apart. Raises ValueError if <= 0."""
    if ratio <= 0:
        raise ValueError("a privacy ratio is positive")
    if ratio == 1:
        return Decimal(0), Decimal(0)
    low = _DOWN.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    high = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return _NEAREST.next_minus(_NEAREST.ln(low)), _NEAREST.next_plus(_NEAREST.ln(high))


def micro_epsilon(ratio: Fraction) -> int:
    """Return the loss ln(ratio) in micro-epsilon, rounded up.

    `ratio` >= 1 is the largest ratio of the probabilities of one output under two inputs.
    """
    if ratio < 1:
        raise ValueError("the largest ratio of an output law is at least 1")
    _, high = ln_bounds(ratio)
    return int(_UP.multiply(high, MICRO).to_integral_value(rounding=ROUND_CEILING))


def from_micro(micro: int) -> Fraction:
    """Return micro-epsilon as an exact number of epsilon."""
    return Fraction(micro, MICRO)


def format_micro(micro: int) -> str:
    """Return micro-epsilon as decimal text without trailing zeros: 1500000 -> '1.5'."""
    text = f"{Decimal(micro).scaleb(-DECIMALS):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
