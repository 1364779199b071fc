"""Epsilon is an integer computed from exact ratios, rounded up, and never above what was asked."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor_shared.epsilon import exp_bounds, format_micro, ln_bounds, micro_epsilon
from rumor_shared.probability import ONE, round_down, round_up


@given(st.fractions(min_value=-20, max_value=20, max_denominator=10**6))
def test_exp_bounds_enclose(x: Fraction) -> None:
    """The bounds hold e**x between them, near enough for any charge."""
    low, high = exp_bounds(x)
    assert low <= high <= low * (1 + Fraction(1, 10**55))
    assert math.isclose(float(low), math.exp(float(x)), rel_tol=1e-12)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_ln_inverts_exp(ratio: Fraction) -> None:
    """The logarithm's bounds, put back through exp, enclose the ratio."""
    low, high = ln_bounds(ratio)
    assert exp_bounds(Fraction(low))[0] <= ratio <= exp_bounds(Fraction(high))[1]


@given(st.integers(1000, 16_000_000))
def test_charge_of_a_rounded_probability_is_what_was_asked(micro: int) -> None:
    """Rounding p down costs at most, and in micro-epsilon exactly, the epsilon that was asked."""
    low, _ = exp_bounds(Fraction(micro, 10**6))
    keep = round_down(low / (low + 1))
    assert micro_epsilon(Fraction(keep, ONE - keep)) == micro


def test_ratio_of_one_is_free_and_below_one_is_a_mistake() -> None:
    """A law that doesn't depend on the value costs nothing; a largest ratio is never below 1."""
    assert micro_epsilon(Fraction(1)) == 0
    with pytest.raises(ValueError, match="at least 1"):
        micro_epsilon(Fraction(1, 2))
    with pytest.raises(ValueError, match="positive"):
        ln_bounds(Fraction(0))


def test_smallest_excess_is_charged() -> None:
    """A ratio a hair above e**eps is charged one micro-epsilon more."""
    _, high = exp_bounds(Fraction(1))
    assert micro_epsilon(high * (1 + Fraction(1, 10**50))) == 1_000_001


@given(st.fractions(min_value=0, max_value=1))
def test_rounding_encloses(p: Fraction) -> None:
    """Down and up are the two neighbours of a probability on the grid of 2**-64."""
    down, up = round_down(p), round_up(p)
    assert Fraction(down, ONE) <= p <= Fraction(up, ONE)
    assert up - down <= 1


@pytest.mark.parametrize(
    ("micro", "text"),
    [(0, "0"), (1, "0.000001"), (1_500_000, "1.5"), (10_000_000, "10"), (123_456, "0.123456")],
)
def test_format(micro: int, text: str) -> None:
    """Micro-epsilon is written as plain decimal text."""
    assert format_micro(micro) == text


def test_integer_sums_meet_the_limit_exactly() -> None:
    """Three reports of .1 fill .3, three of .2 fill .6 and ten of .1 fill 1.0 (TI-02)."""
    for cost, limit, reports in (
        (100_000, 300_000, 3),
        (200_000, 600_000, 3),
        (100_000, 10**6, 10),
    ):
        spent = [cost * i for i in range(reports + 2)]
        assert sum(after <= limit for _, after in pairwise(spent)) == reports
