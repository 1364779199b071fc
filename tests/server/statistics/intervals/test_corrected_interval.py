"""Intervals of large counts by two equal-tailed tests, against the enumerated law of the count."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.server.statistics.intervals.test_exact_interval import Floats, law_of_count

from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.intervals.corrected_interval import corrected_interval
from rumor_server.statistics.intervals.count_law import CountLaw, count_law
from rumor_server.statistics.intervals.score_interval import score_interval
from rumor_server.statistics.intervals.significance import quantile

COINS = [("0.5", "0.27"), ("0.73", "0.27"), ("0.4", "0.05"), ("0.5", "0.02"), ("0.6", "0.5")]


def least_and_most(law: CountLaw, low: Floats, high: Floats, tests: int) -> tuple[float, float]:
    """1 less the chance, summed over all outcomes, that any of `tests` values is missed.

    At the worst and at the best of some shares; no dependence between values is assumed, so that
    the true simultaneous coverage is no lower.
    """
    n, p, q = law.n, float(law.p[0]), float(law.q[0])
    covered = []
    for have in sorted({*np.linspace(0, n, 25).astype(int).tolist(), 1, 2, 3, n - 1}):
        missed = (low > have / n + 1e-12) | (have / n - 1e-12 > high)
        covered.append(1 - tests * float(law_of_count(n, have, p, q)[missed].sum()))
    return min(covered), max(covered)


@pytest.mark.parametrize("tests", [1, 1000])
@pytest.mark.parametrize("expected", [100, 300, 1000])
@pytest.mark.parametrize(("p", "q"), COINS)
def test_coverage_is_never_below_95_percent(p: str, q: str, expected: int, tests: int) -> None:
    """From 100 counts of noise on: 95 to 98% at every share, of one value and of 1,000 at once."""
    n = min(round(expected / float(q)), 4000)
    counts = np.arange(n + 1)
    law, _ = count_law(n, Fraction(p), Fraction(q), counts)
    least, most = least_and_most(law, *corrected_interval(law, counts, 0.05 / tests), tests)
    assert least >= 0.95
    assert most <= 0.98


@pytest.mark.parametrize("tests", [1, 1000])
@pytest.mark.parametrize("expected", [2, 10, 30, 90, 150])
@pytest.mark.parametrize(("p", "q"), COINS)
def test_estimates_cover_95_percent_whatever_the_count(
    p: str, q: str, expected: int, tests: int
) -> None:
    """What is shipped, by either method: never below 95%; at most 99% where 30 are noise."""
    n = round(expected / float(q))
    counts = np.arange(n + 1)
    law, _ = count_law(n, Fraction(p), Fraction(q), counts)
    names = [str(i) for i in counts]
    made = estimate_pure(names, counts, n, Fraction(p), Fraction(q), alpha=0.05, comparisons=tests)
    least, most = least_and_most(law, made.simultaneous_low, made.simultaneous_high, tests)
    assert least >= 0.95 - 1e-9
    if expected >= 30 and Fraction(p) < 1 and n >= 111:
        assert most <= 0.99


def test_score_interval_is_seen_to_cover_too_little() -> None:
    """Planted fault: over 1,000 values at once a normal quantile of 100 counts covers below 93%."""
    n = 5000
    counts = np.arange(n + 1)
    law, _ = count_law(n, Fraction("0.5"), Fraction("0.02"), counts)
    least, _ = least_and_most(law, *score_interval(law, counts, quantile(0.05, 1000)), 1000)
    assert least < 0.93
