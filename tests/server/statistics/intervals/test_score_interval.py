"""Intervals of large counts, against the exact law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm
from tests.server.statistics.intervals.test_exact_interval import law_of_count

from rumor_server.statistics.intervals.count_law import count_law
from rumor_server.statistics.intervals.score_interval import score_interval

Z = float(norm.isf(0.025))


@pytest.mark.parametrize(("p", "q"), [("0.5", "0.27"), ("0.73", "0.27"), ("0.4", "0.05")])
def test_coverage_is_95_percent_at_every_truth(p: str, q: str) -> None:
    """With 1,000 supports expected by noise, summed over all outcomes: 95 +- .5%, no sampling."""
    n = round(1000 / float(q))
    counts = np.arange(n + 1)
    law, _ = count_law(n, Fraction(p), Fraction(q), counts)
    low, high = score_interval(law, counts, Z)
    for have in np.linspace(0, n, 23).astype(int):
        held = (low <= have / n) & (have / n <= high)
        covered = law_of_count(n, int(have), float(p), float(q))[held].sum()
        assert abs(covered - 0.95) < 0.005


def test_bounds_solve_the_score_equation() -> None:
    """At each bound the estimate is exactly z true standard deviations away."""
    counts = np.array([0, 17, 500, 999, 1000])
    law, _ = count_law(1000, Fraction(1, 2), Fraction(1, 5), counts)
    a, b = law.variance_terms()
    estimate = law.frequency(counts)
    for bound in score_interval(law, counts, Z):
        np.testing.assert_allclose((estimate - bound) ** 2, Z * Z * (b + a * bound), atol=1e-12)


def test_interval_with_the_error_of_an_absent_value_fails() -> None:
    """Planted fault: the variance at f = 0 used at f = .5 covers far less than 95%."""
    n, p, q = 20_000, 0.4, 0.05
    counts = np.arange(n + 1)
    law, _ = count_law(n, Fraction("0.4"), Fraction("0.05"), counts)
    _, absent = law.variance_terms()
    held = np.abs(law.frequency(counts) - 0.5) <= Z * np.sqrt(absent)
    assert law_of_count(n, n // 2, p, q)[held].sum() < 0.85
