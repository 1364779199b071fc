"""Basic RAPPOR (one bit a value, two responses), estimated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.server.statistics.mechanisms.statistics_contract import (
    ONE,
    PAIRS,
    Counts,
    StatisticsContract,
    coverage,
    is_one,
    mean_square,
    metric_of,
)
from tests.server.statistics.mechanisms.test_unary import random_bits

from rumor_server.statistics.mechanisms import estimate_metric, group
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.rappor import Rappor

VALUES = [f"v{i}" for i in range(9)]


class RapporContract(StatisticsContract):
    """One report a device: a permanent answer, then an instantaneous one."""

    @property
    def mechanism(self) -> Rappor:
        """The parameters."""
        assert isinstance(self.metric.mechanism, Rappor)
        return self.metric.mechanism

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """From the integers alone."""
        half_f = Fraction(self.mechanism.half_f, ONE)
        p, q = Fraction(self.mechanism.p_set, ONE), Fraction(self.mechanism.q_set, ONE)
        return half_f * p + (1 - half_f) * q, half_f * q + (1 - half_f) * p

    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Draw each response by its own probability."""
        half_f = self.mechanism.half_f / ONE
        kept = rng.binomial(have, 1 - half_f, runs) + rng.binomial(n - have, half_f, runs)
        ones = rng.binomial(kept, self.mechanism.q_set / ONE)
        return ones + rng.binomial(n - kept, self.mechanism.p_set / ONE)

    def payload(self, rng: np.random.Generator) -> bytes:
        """Any payload that passes the check."""
        return random_bits(self.mechanism.cells, rng)


class TestBasicRappor(RapporContract):
    """Asymmetric on purpose: with p = 1 - q a swap hides."""

    metric = metric_of("basic_rappor", f=0.25, p=0.35, q=0.75, values=VALUES)


class TestTurnedRound(RapporContract):
    """p above q: a 0 supports the value."""

    metric = metric_of("basic_rappor", f=0.25, p=0.75, q=0.25, values=VALUES)


class TestWithoutPermanentAnswer(RapporContract):
    """f = 0: fresh noise alone."""

    metric = metric_of("basic_rappor", f=0, p=0.01, q=0.6, values=VALUES)


@pytest.mark.parametrize(("f", "p", "q"), [(0.25, 0.35, 0.75), (0.5, 0.9, 0.2)])
def test_reports_that_repeat_a_permanent_answer_are_less_exact(
    f: float, p: float, q: float
) -> None:
    """Seven reports a device: true errors with `repeats=7`, seen to be wrong without it.

    The mean square of (estimate - truth) / standard error over 10^5 independent bits is 1 within
    five sigmas (5.7e-7).
    """
    values = [f"v{i}" for i in range(PAIRS)]
    metric = metric_of("basic_rappor", f=f, p=p, q=q, values=values)
    mechanism = metric.mechanism
    assert isinstance(mechanism, Rappor)
    devices, have, rng = 20_000, 6_000, np.random.default_rng(70)
    half_f = mechanism.half_f / ONE
    kept = rng.binomial(have, 1 - half_f, PAIRS) + rng.binomial(devices - have, half_f, PAIRS)
    counts = rng.binomial(7 * kept, mechanism.q_set / ONE)
    counts += rng.binomial(7 * (devices - kept), mechanism.p_set / ONE)
    tally = Tally(np.array([7 * devices]), counts[None, :])
    honest = estimate_metric(metric, tally, repeats=7)
    assert is_one(mean_square(honest, 0.3))
    assert abs(coverage(honest, 0.3) - 0.95) < 0.005
    assert not is_one(mean_square(estimate_metric(metric, tally), 0.3))


def test_repeats_change_nothing_where_nothing_is_memoised() -> None:
    """Fresh noise averages out: `repeats` is of no matter, and below 1 it is refused."""
    metric = metric_of("basic_rappor", f=0, p=0.2, q=0.6, values=VALUES)
    tally = Tally(np.array([100]), np.full((1, 9), 30))
    once, often = (list(estimate_metric(metric, tally, repeats=r).rows()) for r in (1, 9))
    assert once == often
    with pytest.raises(ValueError, match="repeats"):
        estimate_metric(metric, tally, repeats=0)


def test_sums_know_of_permanent_noise_that_comes_again() -> None:
    """S-08: over seven days the sum of values has the common noise too; it covered .81 before."""
    metric = metric_of("basic_rappor", f=0.25, p=0.25, q=0.75, values=VALUES)
    tally = Tally(np.array([7000]), np.full((1, 9), 3000))
    groups = {"one": VALUES[:1], "three": VALUES[:3]}
    once, week = (group(metric, tally, groups, repeats=days) for days in (1, 7))
    single = estimate_metric(metric, tally, repeats=7)
    assert (week.std_error > 1.2 * once.std_error).all()
    assert week.std_error[0] == pytest.approx(single.std_error[0])
    assert week.high[0] == pytest.approx(single.high[0])
