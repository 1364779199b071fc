"""One answer from several revisions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.server.statistics.mechanisms.statistics_contract import (
    PAIRS,
    coverage,
    is_one,
    mean_square,
    metric_of,
)

from rumor_server.statistics.estimation import CombinationError, Estimates, combine
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally

NAMES = [str(i) for i in range(PAIRS)]


def revision(epsilon: float, n: int, seed: int) -> Estimates:
    """Binary answers of n devices at epsilon in 10^5 runs; 30% have the value."""
    metric = metric_of("binary", epsilon=epsilon)
    keep = Fraction(metric.mechanism.keep, 2**64)  # type: ignore[attr-defined]
    rng = np.random.default_rng(seed)
    have = round(0.3 * n)
    counts = rng.binomial(have, float(keep), PAIRS) + rng.binomial(n - have, float(1 - keep), PAIRS)
    return estimate_pure(NAMES, counts, n, keep, 1 - keep, alpha=0.05)


def test_revisions_of_different_noise_are_combined_by_their_precision() -> None:
    """CF-01: 1,000 reports at epsilon 1 and 1,000 at 2, each debiased by its own: unbiased,
    with a true error below either's, intervals that hold, n = 2,000.
    """
    weak, strong = revision(1, 1000, 30), revision(2, 1000, 31)
    both = combine([weak, strong])
    assert both.n == 2000
    assert is_one(mean_square(both, 0.3))
    assert abs(coverage(both, 0.3) - 0.95) < 0.005
    assert (both.std_error < strong.std_error).all()
    assert (both.std_error < weak.std_error).all()


def test_pooling_under_one_setting_is_seen() -> None:
    """Planted fault of CF-01: both revisions debiased with the setting of the second fail."""
    weak = revision(1, 1000, 32)
    keep = Fraction(metric_of("binary", epsilon=1).mechanism.keep, 2**64)  # type: ignore[attr-defined]
    other = Fraction(metric_of("binary", epsilon=2).mechanism.keep, 2**64)  # type: ignore[attr-defined]
    counts = np.rint(1000 * (weak.frequency * float(2 * keep - 1) + float(1 - keep))).astype(int)
    wrong = estimate_pure(NAMES, counts, 1000, other, 1 - other, alpha=0.05)
    assert not is_one(mean_square(combine([wrong, revision(2, 1000, 33)]), 0.3))


def test_parts_without_reports_have_no_say() -> None:
    """An empty revision changes nothing; several empty ones give nulls."""
    metric = metric_of("krr", epsilon=1, values=["a", "b", "c"])
    empty = estimate_metric(metric, Tally.empty(metric.mechanism))
    full = estimate_metric(metric, Tally(np.array([90]), np.array([[50, 30, 10]])))
    assert combine([empty, full, empty]) is full
    assert combine([empty, empty]).n == 0


def test_binary_stays_of_one_degree_of_freedom() -> None:
    """Where each part needs no correction for two rows, neither does the whole."""
    metric = metric_of("binary", epsilon=1)
    part = estimate_metric(metric, Tally(np.array([500]), np.array([[200]])))
    both = combine([part, part])
    np.testing.assert_array_equal(both.simultaneous_low, both.low)
    assert both.frequency.sum() == pytest.approx(1, abs=1e-12)


def test_unexplained_shares_are_combined_too() -> None:
    """Of two unexplained shares the more exact one weighs more; one missing leaves none."""
    metric = metric_of("krr", epsilon=1, values=["a", "b", "c"])
    part = estimate_metric(metric, Tally(np.array([90]), np.array([[50, 30, 10]])))
    rough = replace(part, unexplained=0.4, unexplained_std_error=0.2)
    fine = replace(part, unexplained=0.1, unexplained_std_error=0.1)
    both = combine([rough, fine])
    assert both.unexplained == pytest.approx(0.16)
    assert both.unexplained_std_error == pytest.approx(0.2 / 5**0.5)
    assert combine([rough, part]).unexplained is None


def test_parts_that_do_not_belong_together_are_refused() -> None:
    """No parts, other values and another alpha are refused by name."""
    three = metric_of("krr", epsilon=1, values=["a", "b", "c"])
    other = metric_of("krr", epsilon=1, values=["a", "c", "b"])
    tally = Tally(np.array([90]), np.array([[50, 30, 10]]))
    with pytest.raises(CombinationError, match="none"):
        combine([])
    with pytest.raises(CombinationError, match="values"):
        combine([estimate_metric(three, tally), estimate_metric(other, tally)])
    with pytest.raises(CombinationError, match="alpha"):
        combine([estimate_metric(three, tally), estimate_metric(three, tally, alpha=0.1)])
