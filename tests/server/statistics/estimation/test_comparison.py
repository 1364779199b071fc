"""What changed between two periods."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.server.statistics.mechanisms.statistics_contract import PAIRS, metric_of

from rumor_server.statistics.estimation import ComparisonError, Estimates, compare
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally

P, Q = Fraction(1, 2), Fraction(1, 4)


def period(share: float, n: int, seed: int) -> Estimates:
    """10^5 runs of n devices of which `share` have the value."""
    rng = np.random.default_rng(seed)
    have = round(share * n)
    counts = rng.binomial(have, float(P), PAIRS) + rng.binomial(n - have, float(Q), PAIRS)
    return estimate_pure([str(i) for i in range(PAIRS)], counts, n, P, Q, alpha=0.05)


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.0), (0.1, 0.13), (0.5, 0.2)])
def test_interval_of_the_change_covers_95_percent(before: float, after: float) -> None:
    """The change is within its interval 95 +- .5% of the time, in periods of different size."""
    change = compare(period(before, 6000, 40), period(after, 9000, 41))
    truth = after - before
    covered = ((change.low <= truth) & (truth <= change.high)).mean()
    assert abs(covered - 0.95) < 0.005
    square = np.square((change.difference - truth) / change.std_error).mean()
    assert abs(square - 1) < 0.022


def test_no_change_is_rarely_called_one() -> None:
    """Under no change 5% of p-values are at most .05, but for five sigmas."""
    change = compare(period(0.2, 8000, 42), period(0.2, 8000, 43))
    assert abs((change.p_value <= 0.05).mean() - 0.05) < 5 * (0.05 * 0.95 / PAIRS) ** 0.5 + 0.001
    assert not change.significant.all()


def test_periods_that_cannot_be_compared_are_refused() -> None:
    """Other values, another alpha, and a period without reports are refused by name."""
    metric = metric_of("krr", epsilon=1, values=["a", "b", "c"])
    other = metric_of("krr", epsilon=1, values=["a", "b", "d"])
    tally = Tally(np.array([90]), np.array([[50, 30, 10]]))
    full = estimate_metric(metric, tally)
    with pytest.raises(ComparisonError, match="values"):
        compare(full, estimate_metric(other, tally))
    with pytest.raises(ComparisonError, match="alpha"):
        compare(full, estimate_metric(metric, tally, alpha=0.1))
    with pytest.raises(ComparisonError, match="after: holds no report"):
        compare(full, estimate_metric(metric, Tally.empty(metric.mechanism)))
