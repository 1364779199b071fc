"""k-ary randomized response, estimated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.server.statistics.mechanisms.statistics_contract import (
    ONE,
    Counts,
    StatisticsContract,
    metric_of,
    tally_of,
)

from rumor_server.statistics.estimation import norm_sub
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.metric import Metric


def krr(k: int, epsilon: float) -> Metric:
    """A krr metric with the values v0, v1, ..."""
    return metric_of("krr", epsilon=epsilon, values=[f"v{i}" for i in range(k)])


METRIC = krr(10, 2.0)


def answers(metric: Metric, have: Counts, rng: np.random.Generator) -> Counts:
    """Draw one tally: each device tells the truth or lies evenly among the other answers."""
    mechanism = metric.mechanism
    assert isinstance(mechanism, Krr)
    k = len(have)
    counts = rng.binomial(have, mechanism.keep / ONE)
    for value, lies in enumerate(have - counts):
        others = np.delete(np.arange(k), value)
        counts[others] += rng.multinomial(lies, np.full(k - 1, 1 / (k - 1)))
    return counts


class TestKrr(StatisticsContract):
    """One item a run: rows of one tally are dependent."""

    @property
    def metric(self) -> Metric:
        """A small metric."""
        return METRIC

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """From the integers alone."""
        keep = self.mechanism.keep
        return Fraction(keep, ONE), Fraction(ONE - keep, ONE * 9)

    @property
    def mechanism(self) -> Krr:
        """The parameters."""
        assert isinstance(METRIC.mechanism, Krr)
        return METRIC.mechanism

    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Draw each response by its own probability."""
        keep = self.mechanism.keep / ONE
        lies = n - have - rng.binomial(n - have, keep, runs)
        return rng.binomial(have, keep, runs) + rng.binomial(lies, 1 / 9)

    def payload(self, rng: np.random.Generator) -> bytes:
        """Any payload that passes the check."""
        return bytes([int(rng.integers(10))])


def test_raw_shares_add_up_to_one_and_half_are_negative() -> None:
    """ST-04: everyone has one of 100 values; raw shares are signed, what is shown beside adds up.

    Seed fixed; 99 nearly independent signs: fewer than 25 or more than 74 below 0 has chance 1e-6.
    """
    metric = krr(100, 1.0)
    have = np.zeros(100, dtype=np.int64)
    have[0] = 1000
    counts = answers(metric, have, np.random.default_rng(10))
    estimates = estimate_metric(metric, Tally(np.array([1000]), counts[None, :]))
    rows = list(estimates.rows())
    assert sum(row["frequency"] for row in rows) == pytest.approx(1, abs=1e-9)
    assert 25 <= sum(row["frequency"] < 0 for row in rows) <= 74
    clipped = sum(max(0, row["frequency"]) for row in rows)
    assert clipped > 4
    beside = norm_sub(estimates.frequency)
    assert beside.min() >= 0
    assert beside.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("k", [2, 255, 256, 257, 65_536, 65_537])
def test_tally_counts_answers_of_any_width(k: int) -> None:
    """Indices of one, two and three bytes are read little-endian, the first and last among them."""
    metric = krr(k, 1.0)
    width = metric.mechanism.payload_bytes
    indices = [0, 1, k // 2, k - 1, k - 1, 0, 0]
    counts = tally_of(metric)([i.to_bytes(width, "little") for i in indices]).counts[0]
    expected = np.bincount(indices, minlength=k)
    np.testing.assert_array_equal(counts, expected)
    assert tally_of(metric)([]).counts.sum() == 0
