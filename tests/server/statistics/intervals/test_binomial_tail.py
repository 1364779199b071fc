"""Tails of the binomial law, against whole sums of exact fractions."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from rumor_server.statistics.intervals.significance import above, at_most


def exactly(k: int, n: int, p: Fraction) -> Fraction:
    """P[X <= k], summed."""
    terms = (comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(min(k, n) + 1))
    return sum(terms, start=Fraction(0))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 60])
@pytest.mark.parametrize("p", [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
def test_agrees_with_fractions(n: int, p: Fraction) -> None:
    """Both tails are exact to 12 digits, inside and outside of 0 to n, and far out."""
    ks = np.arange(-2, n + 3)
    expected = [exactly(int(k), n, p) for k in ks]
    assert at_most(ks, n, float(p)) == pytest.approx([float(one) for one in expected], rel=1e-12)
    assert above(ks, n, float(p)) == pytest.approx([float(1 - one) for one in expected], rel=1e-12)


def test_keeps_the_shape_of_what_is_asked() -> None:
    """k and n are broadcast against each other."""
    tail = at_most(np.array([[1], [2]]), np.array([3, 4, 5]), 0.5)
    assert tail.shape == (2, 3)
    assert tail[1, 0] == pytest.approx(7 / 8)
