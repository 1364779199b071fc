"""Confidence sequences hold the truth on every day at once; ordinary intervals do not.

Rates are over histories, each looked at on each of 90 days. A rate meets its bar where it is within
3.3 of its own standard errors.
"""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.intervals.confidence_sequence import (
    Mixture,
    confidence_sequence,
    mixture,
)

DAYS, K, ALPHA = 90, 10, 0.05
P, Q = Fraction(1, 2), Fraction(269, 1000)
KRR_4 = Fraction(54598, 54598 + 9000 + 1000), Fraction(1000, 54598 + 9000 + 1000)
Counts = NDArray[np.int64]


def histories(
    p: Fraction, q: Fraction, a_day: int, number: int, seed: int, k: int = K
) -> tuple[Counts, NDArray[np.float64]]:
    """Draw running counts and running true shares, (days, histories, k), of drifting populations.

    Each history walks on the logarithm of its shares, so that values trade places within 90 days.
    """
    rng = np.random.default_rng(seed)
    walk = rng.normal(0, 1, (1, number, k)) + rng.normal(0, 0.15, (DAYS, number, k)).cumsum(axis=0)
    shares = np.exp(walk)
    shares /= shares.sum(axis=2, keepdims=True)
    have = rng.multinomial(a_day, shares)
    counts = rng.binomial(have, float(p)) + rng.binomial(a_day - have, float(q))
    reports = a_day * np.arange(1, DAYS + 1)
    return counts.cumsum(axis=0), have.cumsum(axis=0) / reports[:, None, None]


def ever_wrong(
    p: Fraction, q: Fraction, a_day: int, number: int, seed: int, fixed: Mixture
) -> NDArray[np.bool_]:
    """Return which histories exclude the truth of any value on any day."""
    counts, truth = histories(p, q, a_day, number, seed)
    wrong = np.zeros(number, dtype=np.bool_)
    for day in range(DAYS):
        flat = counts[day].ravel()
        low, high = confidence_sequence(flat, a_day * (day + 1), p, q, fixed)
        outside = (truth[day].ravel() < low) | (truth[day].ravel() > high)
        wrong |= outside.reshape(number, K).any(axis=1)
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(("p", "q", "a_day"), [(P, Q, 500), (*KRR_4, 100)], ids=["oue", "krr"])
def test_holds_every_value_on_every_day(p: Fraction, q: Fraction, a_day: int) -> None:
    """Of 300 drifting histories looked at daily, at most 5% ever exclude the truth of any value."""
    fixed = mixture(a_day, p, q, K, ALPHA)
    rate = ever_wrong(p, q, a_day, 300, 20261201, fixed).mean()
    assert rate <= ALPHA + 3.3 * np.sqrt(ALPHA * (1 - ALPHA) / 300)


@pytest.mark.slow
def test_a_sequence_made_for_one_look_is_caught() -> None:
    """Planted: evidence asked for as if there were one value and a single look is too little."""
    right = mixture(500, P, Q, K, ALPHA)
    planted = Mixture(right.steps, right.log_weights, 1, 0.5)
    rate = ever_wrong(P, Q, 500, 100, 7, planted).mean()
    assert rate > ALPHA + 3.3 * np.sqrt(ALPHA * (1 - ALPHA) / 100)


def test_ordinary_intervals_looked_at_daily_fail() -> None:
    """Simultaneous intervals of single days exclude some truth in over a tenth of the histories."""
    counts, truth = histories(P, Q, 500, 100, 11)
    wrong = np.zeros(100, dtype=np.bool_)
    for day in range(DAYS):
        for history in range(100):
            told = estimate_pure(
                tuple("abcdefghij"), counts[day, history], 500 * (day + 1), P, Q, alpha=ALPHA
            )
            outside = (truth[day, history] < told.simultaneous_low) | (
                truth[day, history] > told.simultaneous_high
            )
            wrong[history] |= outside.any()
    assert wrong.mean() > 0.10


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
@pytest.mark.parametrize(("k", "bars"), [(10, (1.7, 1.7, 1.7, 1.5)), (2, (1.7, 1.7, 1.7, 1.7))])
def test_is_little_wider_than_one_look(share: float, k: int, bars: tuple[float, ...]) -> None:
    """Against a single look's simultaneous interval: 1.7 times on days 1, 7 and 30, 1.5 on 90."""
    a_day = 2000
    fixed = mixture(a_day, P, Q, k, ALPHA)
    values = tuple(str(i) for i in range(k))
    for day, bar in zip((1, 7, 30, 90), bars, strict=True):
        n = a_day * day
        count = np.full(k, round(n * float(Q + Fraction(share) * (P - Q))), dtype=np.int64)
        low, high = confidence_sequence(count, n, P, Q, fixed)
        single = estimate_pure(values, count, n, P, Q, alpha=ALPHA)
        width = min(single.simultaneous_high[0], 1.0) - max(single.simultaneous_low[0], 0.0)
        assert high[0] - low[0] <= bar * width


def test_a_response_that_is_turned_round_is_read_from_the_other_side() -> None:
    """With p < q the bounds are those of the reports that do not support."""
    counts = np.array([120, 700], dtype=np.int64)
    fixed = mixture(1000, P, Q, 2, ALPHA)
    there = confidence_sequence(counts, 1000, P, Q, fixed)
    back = confidence_sequence(1000 - counts, 1000, 1 - P, 1 - Q, fixed)
    np.testing.assert_allclose(there, back, atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_certain_counts_stay_within_what_is_possible(count: int) -> None:
    """No support, or nothing but support, of few reports gives bounds in [0, 1], in order."""
    fixed = mixture(1, *KRR_4, K, ALPHA)
    low, high = confidence_sequence(np.array([count], dtype=np.int64), 5, *KRR_4, fixed)
    assert 0 <= low[0] <= high[0] <= 1


def test_asks_for_a_report() -> None:
    """No report, no interval: said as an error and not as the whole range."""
    with pytest.raises(ValueError, match="first_reports"):
        mixture(0, P, Q, K, ALPHA)
    with pytest.raises(ValueError, match="n: is 0"):
        confidence_sequence(np.array([0]), 0, P, Q, mixture(5, P, Q, K, ALPHA))


def test_bounds_lie_where_the_evidence_excludes() -> None:
    """At each bound within (0, 1) the mixture, summed up term by term, is just k / alpha."""
    fixed = mixture(300, P, Q, 3, ALPHA)
    counts, n = np.array([310, 400, 500]), 1000
    for bounds in confidence_sequence(counts, n, P, Q, fixed):
        for count, share in zip(counts.tolist(), bounds.tolist(), strict=True):
            if not 0 < share < 1:
                continue
            rate = float(Q) + share * float(P - Q)
            terms = fixed.log_weights + fixed.steps * count
            terms -= n * np.log1p(rate * np.expm1(fixed.steps))
            assert np.logaddexp.reduce(terms) == pytest.approx(np.log(3 / ALPHA), rel=1e-9)
