"""Binary randomized response, estimated."""

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

from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.metric import Metric

METRIC = metric_of("binary", epsilon=1)


class TestBinary(StatisticsContract):
    """One item a run: the second value."""

    @property
    def metric(self) -> Metric:
        """A small metric."""
        return METRIC

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """From the integers alone."""
        keep = self.mechanism.keep
        return Fraction(keep, ONE), Fraction(ONE - keep, ONE)

    @property
    def mechanism(self) -> Binary:
        """The parameters."""
        assert isinstance(METRIC.mechanism, Binary)
        return METRIC.mechanism

    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Draw each response by its own probability."""
        keep = self.mechanism.keep / ONE
        truths = rng.binomial(have, keep, runs)
        return truths + (n - have) - rng.binomial(n - have, keep, runs)

    def supports(self, tally: Tally) -> Counts:
        """Both answers."""
        ones = int(tally.counts[0, 0])
        return np.array([tally.n - ones, ones])

    def payload(self, rng: np.random.Generator) -> bytes:
        """Any payload that passes the check."""
        return bytes([int(rng.integers(2))])


def test_both_shares_add_up_to_one() -> None:
    """There is one degree of freedom: shares add to 1, intervals mirror each other."""
    rows = list(estimate_metric(METRIC, Tally(np.array([5000]), np.array([[2100]]))).rows())
    assert rows[0]["frequency"] + rows[1]["frequency"] == pytest.approx(1, abs=1e-12)
    assert rows[0]["low"] == pytest.approx(1 - rows[1]["high"], abs=1e-12)
    assert rows[0]["std_error"] == pytest.approx(rows[1]["std_error"], rel=1e-12)
    assert rows[0]["simultaneous_low"] == rows[0]["low"]


def test_tally_counts_the_ones() -> None:
    """The tally is the number of payloads that name the second value."""
    assert tally_of(METRIC)([b"\x00", b"\x01", b"\x01"]).counts.tolist() == [[2]]
    assert tally_of(METRIC)([b"\x01"] * 300).counts.tolist() == [[300]]
