"""Bounds of all days at once are those of each day's sequence; asymptotic ones hold their rate.

Rates are over histories, each looked at on each of 90 days. A rate meets its bar where it is within
3.3 of its own standard errors.
"""

from __future__ import annotations

from fractions import Fraction
from time import perf_counter

import numpy as np
import pytest
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.estimation.daily_watch import (
    WatchError,
    watch_counts,
    watch_estimates,
)
from rumor_server.statistics.intervals.confidence_sequence import confidence_sequence, mixture
from rumor_server.statistics.intervals.significance import quantile

DAYS, K, ALPHA = 90, 10, 0.05
P, Q = Fraction(1, 2), Fraction(269, 1000)
RARE = Fraction(9, 10), Fraction(3, 10_000)


def history(
    p: Fraction, q: Fraction, a_day: int, seed: int, days: int = DAYS, k: int = K
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Draw daily counts (days, k), daily reports, and running true shares of drifting devices."""
    rng = np.random.default_rng(seed)
    walk = rng.normal(0, 1, k) + rng.normal(0, 0.15, (days, k)).cumsum(axis=0)
    shares = np.exp(walk)
    shares /= shares.sum(axis=1, keepdims=True)
    reports = rng.poisson(a_day, days)
    have = rng.multinomial(reports, shares)
    counts = rng.binomial(have, float(p)) + rng.binomial(reports[:, None] - have, float(q))
    truth = have.cumsum(axis=0) / np.maximum(reports.cumsum(), 1)[:, None]
    return counts, reports, truth


@pytest.mark.parametrize(("p", "q"), [(P, Q), RARE, (1 - P, 1 - Q)], ids=["oue", "rare", "turned"])
@pytest.mark.parametrize("a_day", [1, 300])
def test_all_days_at_once_are_each_days_sequence(p: Fraction, q: Fraction, a_day: int) -> None:
    """Of few reports a day and of many, days without any among them."""
    counts, reports, _ = history(p, q, a_day, 1)
    told = watch_counts(counts, reports, p, q, alpha=ALPHA, memoised=False)
    n, supported = reports.cumsum(), counts.cumsum(axis=0)
    fixed = mixture(int(n[n > 0][0]), p, q, K, ALPHA)
    for day in range(DAYS):
        if not n[day]:
            assert (told.low[day] == 0).all()
            assert (told.high[day] == 1).all()
            assert np.isnan(told.frequency[day]).all()
            continue
        low, high = confidence_sequence(supported[day], int(n[day]), p, q, fixed)
        np.testing.assert_allclose(told.low[day], low, atol=1e-9)
        np.testing.assert_allclose(told.high[day], high, atol=1e-9)
        share = (supported[day] / n[day] - float(q)) / float(p - q)
        np.testing.assert_allclose(told.frequency[day], share, atol=1e-12)
    assert not told.asymptotic


def test_a_year_of_a_hundred_values_is_quick() -> None:
    """36,500 intervals, the best of three runs, in less than six seconds."""
    counts, reports, _ = history(P, Q, 5000, 2, days=365, k=100)
    start = perf_counter()
    told = watch_counts(counts, reports, P, Q, alpha=ALPHA, memoised=False)
    assert perf_counter() - start < 6
    assert (told.low <= told.high).all()


def ever_wrong(number: int, *, planted: bool = False) -> float:
    """Return how many histories of normal daily estimates exclude any truth on any day.

    The daily variances differ by days and values, and the shares drift. Planted: ordinary
    simultaneous intervals of single days.
    """
    rng = np.random.default_rng(20261201)
    wrong = 0
    for _ in range(number):
        reports = rng.poisson(2000, DAYS)
        truth = np.clip(0.1 + rng.normal(0, 0.01, (DAYS, K)).cumsum(axis=0), 0, 1)
        variances = (3.7 + truth) / reports[:, None]
        shares = rng.normal(truth, np.sqrt(variances))
        weights = reports[:, None] / reports.cumsum()[:, None]
        running = (reports[:, None] * truth).cumsum(axis=0) / reports.cumsum()[:, None]
        told = watch_estimates(shares, variances, reports, alpha=ALPHA, memoised=False)
        low, high = told.low, told.high
        if planted:
            total = (reports[:, None] ** 2 * variances).cumsum(axis=0)
            half = quantile(ALPHA, K) * np.sqrt(total) * weights / reports[:, None]
            low, high = told.frequency - half, told.frequency + half
        wrong += bool(((running < low - 1e-12) | (running > high + 1e-12)).any())
    return wrong / number


def test_asymptotic_bounds_hold_on_every_day() -> None:
    """Of 1,000 drifting histories at most 5% ever exclude the truth of any of ten values."""
    assert ever_wrong(1000) <= ALPHA + 3.3 * (ALPHA * (1 - ALPHA) / 1000) ** 0.5


def test_ordinary_intervals_looked_at_daily_are_caught() -> None:
    """Planted: they exclude some truth in over a tenth of 300 histories."""
    assert ever_wrong(300, planted=True) > 0.10


@pytest.mark.parametrize("day", [1, 7, 30, 90])
def test_asymptotic_bounds_are_little_wider_than_one_look(day: int) -> None:
    """At most 1.5 times a single look's simultaneous interval."""
    reports = np.full(DAYS, 100_000)
    shares, variances = np.full((DAYS, K), 0.5), np.full((DAYS, K), 3.7 / 100_000)
    told = watch_estimates(shares, variances, reports, alpha=ALPHA, memoised=False)
    single = 2 * quantile(ALPHA, K) * (3.7 / (100_000 * day)) ** 0.5
    assert told.asymptotic
    assert single < (told.high - told.low)[day - 1, 0] <= 1.5 * single


def test_days_without_reports_change_nothing() -> None:
    """What an empty day's estimate is does not matter, at the start or later."""
    reports = np.array([0, 500, 0, 500])
    shares = np.array([[np.nan], [0.4], [np.nan], [0.2]])
    told = watch_estimates(shares, shares / 100, reports, alpha=ALPHA, memoised=False)
    assert np.isnan(told.frequency[0, 0])
    assert (told.low[0, 0], told.high[0, 0]) == (0, 1)
    assert told.frequency[1:, 0] == pytest.approx([0.4, 0.4, 0.3])
    assert told.low[1, 0] == told.low[2, 0]
    empty = watch_counts(np.zeros((2, 3), int), np.zeros(2, int), P, Q, alpha=0.1, memoised=False)
    assert (empty.high == 1).all()


def test_memoised_metrics_are_refused() -> None:
    """Their devices repeat their noise, and no bound holds on all days."""
    days = np.ones((3, 2), dtype=np.int64)
    with pytest.raises(WatchError, match="memoised"):
        watch_counts(days, days.sum(axis=1), P, Q, alpha=ALPHA, memoised=True)
    with pytest.raises(WatchError, match="memoised"):
        watch_estimates(days / 9, days / 9, days.sum(axis=1), alpha=ALPHA, memoised=True)
