"""Intervals of small counts, against enumeration of every outcome."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from rumor_server.statistics.intervals.count_law import count_law
from rumor_server.statistics.intervals.exact_interval import exact_interval

Floats = NDArray[np.float64]


def law_of_count(n: int, have: int, p: float, q: float) -> Floats:
    """P[count = 0 ... n] where `have` of n devices support with p and the others with q."""
    with_value = binom.pmf(np.arange(have + 1), have, p)
    without = binom.pmf(np.arange(n - have + 1), n - have, q)
    return np.convolve(with_value, without)


def by_enumeration(n: int, p: float, q: float, count: int, alpha: float) -> list[int]:
    """All numbers of devices that neither one-sided test at alpha / 2 refuses."""
    kept = []
    for have in range(n + 1):
        law = law_of_count(n, have, p, q)
        if min(law[count:].sum(), law[: count + 1].sum()) > alpha / 2:
            kept.append(have)
    return kept


@settings(max_examples=60)
@given(
    n=st.integers(1, 80),
    p=st.integers(2, 99),
    q=st.integers(1, 98),
    place=st.floats(0, 1),
    alpha=st.sampled_from([0.2, 0.05, 1e-4]),
)
def test_bounds_are_those_of_enumeration(
    n: int, p: int, q: int, place: float, alpha: float
) -> None:
    """The bounds are the least and greatest share that the exact tests keep, or the estimate."""
    if p <= q:
        p, q = q + 1, min(p, q)
    count = round(place * n)
    law, counts = count_law(n, Fraction(p, 100), Fraction(q, 100), np.array([count]))
    kept = by_enumeration(n, p / 100, q / 100, count, alpha)
    if not kept:
        return
    low, high = exact_interval(law, counts, alpha)
    estimate = float(law.frequency(counts)[0])
    assert low[0] == pytest.approx(min(kept[0] / n, estimate), abs=1e-12)
    assert high[0] == pytest.approx(max(kept[-1] / n, estimate), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "p", "q"),
    [(60, "0.5", "0.02"), (200, "0.99", "0.004"), (50, "0.73", "0.27"), (40, "0.95", "0.9")],
)
def test_coverage_is_at_least_95_percent_at_every_truth(n: int, p: str, q: str) -> None:
    """Summed over all outcomes, no number of devices is missed more often than 5%: no sampling."""
    counts = np.arange(n + 1)
    law, _ = count_law(n, Fraction(p), Fraction(q), counts)
    low, high = exact_interval(law, counts, 0.05)
    for have in range(n + 1):
        held = (low <= have / n + 1e-12) & (have / n - 1e-12 <= high)
        assert law_of_count(n, have, float(p), float(q))[held].sum() >= 0.95 - 1e-12


def test_certain_coins_give_a_narrow_interval() -> None:
    """At p = .997, q = .0003 the interval of 30% of 20,000 is far below the binomial's width."""
    counts = np.array([5988])
    law, _ = count_law(20_000, Fraction("0.997"), Fraction("0.0003"), counts)
    low, high = exact_interval(law, counts, 0.05)
    binomial = 2 * 1.96 * (0.2994 * 0.7006 / 20_000) ** 0.5
    assert 0 < high[0] - low[0] < binomial / 10


def test_many_values_with_few_counts_are_solved_once_each() -> None:
    """100,000 values of a large domain take the time of their distinct counts."""
    counts = np.random.default_rng(20).poisson(40, 100_000)
    law, _ = count_law(400_000, Fraction("0.4"), Fraction("0.0001"), counts)
    low, high = exact_interval(law, counts, 0.05 / 100_000)
    assert (low <= high).all()
    assert len(np.unique(low)) <= len(np.unique(counts))
