"""Unary encoding, estimated."""

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

from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric


def unary(name: str, k: int, epsilon: float) -> Metric:
    """A metric of unary encoding with the values v0, v1, ..."""
    return metric_of(name, epsilon=epsilon, values=[f"v{i}" for i in range(k)])


def random_bits(bits: int, rng: np.random.Generator) -> bytes:
    """A payload of independent fair bits, padding clear."""
    vector = int.from_bytes(rng.bytes((bits + 7) // 8), "little") & ((1 << bits) - 1)
    return vector.to_bytes((bits + 7) // 8, "little")


class UnaryContract(StatisticsContract):
    """Each bit is flipped on its own."""

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """From the integers alone."""
        mechanism = self.mechanism
        return Fraction(mechanism.set_stays, ONE), Fraction(mechanism.clear_sets, ONE)

    @property
    def mechanism(self) -> Unary:
        """The parameters."""
        assert isinstance(self.metric.mechanism, Unary)
        return self.metric.mechanism

    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Draw each response by its own probability."""
        stay, appear = self.mechanism.set_stays / ONE, self.mechanism.clear_sets / ONE
        return rng.binomial(have, stay, runs) + rng.binomial(n - have, appear, runs)

    def payload(self, rng: np.random.Generator) -> bytes:
        """Any payload that passes the check."""
        return random_bits(self.mechanism.cells, rng)


class TestSue(UnaryContract):
    """Symmetric: p + q = 1."""

    metric = unary("sue", 11, 1.5)


class TestOue(UnaryContract):
    """Optimised: p = 1/2."""

    metric = unary("oue", 11, 1.5)


class TestOueOfHighEpsilon(UnaryContract):
    """At epsilon 6 noise is rare, and a set bit is still lost half of the time."""

    metric = unary("oue", 300, 6)


@pytest.mark.parametrize("bits", [2, 7, 8, 9, 23, 64, 1000])
def test_tally_counts_each_bit(bits: int) -> None:
    """Bit i is bit i % 8 of byte i // 8; the last one is counted like the first."""
    metric = unary("oue", bits, 1)
    rng = np.random.default_rng(11)
    payloads = [random_bits(bits, rng) for _ in range(50)]
    expected = [
        sum(int.from_bytes(payload, "little") >> bit & 1 for payload in payloads)
        for bit in range(bits)
    ]
    assert tally_of(metric)(payloads).counts[0].tolist() == expected
    assert tally_of(metric)([]).counts[0].tolist() == [0] * bits


def test_tally_of_more_than_one_block() -> None:
    """A sum over more bits than are unpacked at once loses no report."""
    metric = unary("oue", 400_000, 1)
    payload = b"\xff" * 50_000
    assert set(tally_of(metric)([payload] * 90).counts[0].tolist()) == {90}
