"""What changed between two periods."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.server.statistics.mechanisms.statistics_contract import PAIRS, metric_of

from rumor_server.statistics.estimation import (
    Change,
    ComparisonError,
    Estimates,
    Of,
    compare,
)
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
    change = compare(period(before, 6000, 40), period(after, 9000, 41), of=Of.DEVICES)
    truth = after - before
    covered = ((change.low <= truth) & (truth <= change.high)).mean()
    assert abs(covered - 0.95) < 0.005
    square = np.square((change.difference - truth) / change.std_error).mean()
    assert abs(square - 1) < 0.022


def test_no_change_of_these_devices_is_rarely_called_one() -> None:
    """Under no change 5% of p-values are at most .05, but for five sigmas."""
    change = compare(period(0.2, 8000, 42), period(0.2, 8000, 43), of=Of.DEVICES)
    assert abs((change.p_value <= 0.05).mean() - 0.05) < 5 * (0.05 * 0.95 / PAIRS) ** 0.5 + 0.001
    assert not change.significant.all()


RUNS = 20_000


def samples(name: str, epsilon: float, n: int, seed: int, k: int = 16) -> Estimates:
    """Estimates of RUNS samples of n devices of one Zipf population, one value after another."""
    k = 2 if name == "binary" else k
    fields = {} if name == "binary" else {"values": [f"v{i}" for i in range(k)]}
    metric = metric_of(name, epsilon=epsilon, **fields)
    pair = metric.mechanism.support()
    assert pair is not None
    p, q = pair
    weights = 1 / np.arange(1, k + 1)
    rng = np.random.default_rng(seed)
    rates = float(q) + float(p - q) * weights / weights.sum()
    if name in ("binary", "krr"):
        counts = rng.multinomial(n, rates / rates.sum(), RUNS)
    else:
        counts = rng.binomial(n, rates, (RUNS, k))
    names = [str(i) for i in range(RUNS * k)]
    return estimate_pure(names, counts.ravel(), n, p, q, alpha=0.05)


def alarms(change: Change, tests: int) -> float:
    """In how many of the runs any value is called changed."""
    called = change.p_value <= 0.05 / tests
    return float(called.reshape(RUNS, -1).any(axis=1).mean())


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(20_000, 20_000), (2000, 100), (1000, 200), (200, 300)])
@pytest.mark.parametrize("epsilon", [1, 4, 8])
@pytest.mark.parametrize("name", ["krr", "oue", "binary", "subset", "pgr"])
def test_two_samples_of_one_population_are_rarely_called_different(
    name: str, epsilon: float, sizes: tuple[int, int]
) -> None:
    """S-02: at most 5.5% of 20,000 pairs have any value changed, at 20,000 devices 3% or more."""
    tests = 1 if name == "binary" else 16
    sides = [samples(name, epsilon, n, 90 + i) for i, n in enumerate(sizes)]
    found = alarms(compare(*sides), tests)
    assert found <= 0.055
    if min(sizes) == 20_000:
        assert found >= 0.03


@pytest.mark.parametrize(("name", "tests"), [("oue", 16), ("krr", 16), ("binary", 1)])
def test_samples_of_a_population_differ_as_devices(name: str, tests: int) -> None:
    """Planted fault of S-02: without the draw of the devices, epsilon 8 always finds a change."""
    sides = [samples(name, 8, 20_000, 94 + i) for i in range(2)]
    assert alarms(compare(*sides, of=Of.DEVICES), tests) > 0.3


@pytest.mark.parametrize(("name", "k"), [("binary", 2), ("krr", 2), ("subset", 2)])
def test_a_question_of_two_values_is_one_test(name: str, k: int) -> None:
    """Where one share is 1 less the other, a p-value below alpha is significant as it is."""
    fields = {} if name == "binary" else {"values": ["a", "b"]}
    metric = metric_of(name, epsilon=2, **fields)
    cells = metric.mechanism.cells
    one, other = (
        estimate_metric(metric, Tally(np.array([1000]), np.array([counts[-cells:]])))
        for counts in ([600, 400], [554, 446])
    )
    change = compare(one, other)
    assert len(change.values) == k
    assert (change.p_value > 0.025).all()
    assert (change.p_value < 0.05).all()
    assert change.significant.all()


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.0), (0.1, 0.13), (0.5, 0.2)])
def test_interval_of_the_populations_change_covers_95_percent(before: float, after: float) -> None:
    """Devices drawn anew in each run: the interval holds 95 +- .5%, the error is true."""
    rng = np.random.default_rng(97)
    sides = []
    for share, n in ((before, 6000), (after, 9000)):
        counts = rng.binomial(n, float(Q + (P - Q) * Fraction(share)), PAIRS)
        sides.append(estimate_pure([str(i) for i in range(PAIRS)], counts, n, P, Q, alpha=0.05))
    change = compare(*sides)
    truth = after - before
    assert abs(((change.low <= truth) & (truth <= change.high)).mean() - 0.95) < 0.005
    assert abs(np.square((change.difference - truth) / change.std_error).mean() - 1) < 0.022


def test_revisions_of_different_noise_are_compared() -> None:
    """S-02 where p and q differ: the normal test of the pooled share holds its level too."""
    sides = [samples("oue", epsilon, 20_000, 98 + i) for i, epsilon in enumerate((4, 8))]
    assert alarms(compare(*sides), 16) <= 0.055


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
