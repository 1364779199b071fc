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
    tally = Tally(np.array([90]), np.array([[50, 30, 10]]))
    parts = []
    for epsilon in (1, 2):
        metric = metric_of("krr", epsilon=epsilon, values=["a", "b", "c"])
        parts.append(estimate_metric(metric, tally))
    variances = [part.noise.beforehand for part in parts if part.noise]
    share = variances[1] / sum(variances)  # type: ignore[operator,arg-type]
    rough = replace(parts[0], unexplained=0.4, unexplained_std_error=0.2)
    fine = replace(parts[1], unexplained=0.1, unexplained_std_error=0.1)
    both = combine([rough, fine])
    assert both.unexplained == pytest.approx(0.4 * share + 0.1 * (1 - share))
    assert both.unexplained_std_error == pytest.approx(np.hypot(0.2 * share, 0.1 * (1 - share)))
    assert combine([rough, parts[1]]).unexplained is None


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


def drawn(name: str, epsilon: float, k: int, n: int, runs: int, seed: int) -> list[Estimates]:
    """Estimates of `runs` sets of n devices whose values follow a Zipf law, each of one truth."""
    metric = metric_of(name, epsilon=epsilon, values=[f"v{i}" for i in range(k)])
    pair = metric.mechanism.support()
    assert pair is not None
    p, q = (float(x) for x in pair)
    weights = 1 / np.arange(1, k + 1)
    have = np.floor(n * weights / weights.sum()).astype(np.int64)
    have[0] += n - have.sum()
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(runs):
        if name == "krr":
            counts = np.zeros(k, dtype=np.int64)
            for value, devices in enumerate(have):
                kept = rng.binomial(devices, p)
                lies = rng.multinomial(devices - kept, np.full(k - 1, 1 / (k - 1)))
                counts[value] += kept
                counts[np.arange(k) != value] += lies
        else:
            counts = rng.binomial(have, p) + rng.binomial(n - have, q)
        made.append(estimate_metric(metric, Tally(np.array([n]), counts[None, :])))
    return made


@pytest.mark.parametrize(("epsilons", "n"), [((2, 2, 2), 10_000), ((4, 4, 4), 1000), ((1, 4), 500)])
def test_pooled_shares_of_krr_add_up_to_one_in_every_run(
    epsilons: tuple[float, ...], n: int
) -> None:
    """S-04: weights that follow the reports summed to .936 and .917; now to 1 but for rounding."""
    parts = [drawn("krr", epsilon, 100, n, 20, 60 + i) for i, epsilon in enumerate(epsilons)]
    for run in zip(*parts, strict=True):
        assert combine(run).frequency.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("epsilons", [(8, 8), (4, 8), (8, 6)])
def test_pooled_shares_of_oue_add_up_to_one_on_average(epsilons: tuple[float, ...]) -> None:
    """S-04: the mean sum over 400 runs is 1 within four of its standard errors (6e-5 a test).

    Weights by the parts' own errors, the planted fault, fail it.
    """
    parts = [drawn("oue", epsilon, 50, 200, 400, 70 + i) for i, epsilon in enumerate(epsilons)]
    pooled = np.array([combine(run).frequency.sum() for run in zip(*parts, strict=True)])
    assert abs(pooled.mean() - 1) < 4 * pooled.std() / len(pooled) ** 0.5

    def by_own_errors(run: tuple[Estimates, ...]) -> float:
        precision = np.array([1 / np.square(part.std_error) for part in run])
        shares = np.array([part.frequency for part in run])
        return float(((precision * shares).sum(axis=0) / precision.sum(axis=0)).sum())

    wrong = np.array([by_own_errors(run) for run in zip(*parts, strict=True)])
    assert abs(wrong.mean() - 1) > 4 * wrong.std() / len(wrong) ** 0.5


def test_pooled_intervals_cover_few_reports() -> None:
    """S-04: twice 200 devices, oue at epsilon 8: covered .562; counts add, the exact law holds."""
    parts = [drawn("oue", 8, 50, 200, 400, 80 + i) for i in range(2)]
    weights = 1 / np.arange(1, 51)
    have = np.floor(200 * weights / weights.sum())
    have[0] += 200 - have.sum()
    held = []
    for run in zip(*parts, strict=True):
        pooled = combine(run)
        held.append((pooled.low <= have / 200) & (have / 200 <= pooled.high))
    # 20,000 pairs: five sigmas are .0077.
    assert np.mean(held) > 0.95 - 0.0077
