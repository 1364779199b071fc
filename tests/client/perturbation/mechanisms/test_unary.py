"""Unary encoding keeps the contract, each bit at its own rate, and its faults are seen."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import cast

import pytest
from tests.client.perturbation.mechanisms.contract import (
    MechanismContract,
    bit_counts,
    check_law,
    check_rates,
    letters,
    metric_with,
    seeded,
)
from tests.client.perturbation.mechanisms.exact_law import law_of

from rumor_client.perturbation.mechanisms.unary import UnaryPerturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.bits import encode_bits
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric

RUNS = 20_000
Perturb = Callable[[Metric, str, int, Randomness], bytes]


class UnaryContract(MechanismContract):
    """What sue and oue share."""

    mechanism: str

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Domains from two values to six."""
        return [
            (metric_with(self.mechanism, epsilon=epsilon, values=letters(k)), letters(k), True)
            for k in (2, 3, 6)
            for epsilon in (0.001, 0.5, 1, 2, 16)
        ]

    def wide_metric(self) -> Metric:
        """Three bytes, the last with three bits."""
        return metric_with(self.mechanism, epsilon=1, values=letters(19))

    @pytest.mark.parametrize("truth", [0, 9, 18])
    def test_every_bit_at_its_own_rate(self, truth: int) -> None:
        """Each bit index, ends included, is set at p if the value's, else at q (ST-01)."""
        metric = self.wide_metric()
        check_rates(*observed(metric, truth, perturb), RUNS)


class TestSue(UnaryContract):
    """Symmetric unary encoding."""

    mechanism = "sue"


class TestOue(UnaryContract):
    """Optimised unary encoding."""

    mechanism = "oue"


def perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Perturb as the device does."""
    return UnaryPerturber(metric).perturb(text, cohort, live)


def observed(metric: Metric, truth: int, perturb: Perturb) -> tuple[list[int], list[Fraction]]:
    """Return how often each bit was set in RUNS reports, and how often it should be."""
    mechanism = cast(Unary, metric.mechanism)
    live = seeded(7 + truth)
    payloads = [perturb(metric, mechanism.values[truth], 0, live) for _ in range(RUNS)]
    rates: list[Fraction] = [mechanism.q] * len(mechanism.values)
    rates[truth] = mechanism.p
    return bit_counts(payloads, len(mechanism.values)), rates


def true_bit_kept_twice(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Set the true bit if either of two draws says so: P = 1 - (1 - p)(1 - q)."""
    mechanism = cast(Unary, metric.mechanism)
    own = 1 << metric.indices[text]
    vector = live.bits(len(mechanism.values), 0, 0, mechanism.clear_sets)
    if live.bernoulli(mechanism.set_stays):
        vector |= own
    return encode_bits(vector, len(mechanism.values))


def last_bit_in_clear(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Leave the last bit of the vector as it is."""
    mechanism = cast(Unary, metric.mechanism)
    k = len(mechanism.values)
    own = 1 << metric.indices[text]
    vector = live.bits(k, own, mechanism.set_stays, mechanism.clear_sets)
    last = 1 << (k - 1)
    return encode_bits(vector & ~last | own & last, k)


@pytest.mark.parametrize("mechanism", ["sue", "oue"])
@pytest.mark.parametrize("fault", [true_bit_kept_twice, last_bit_in_clear])
def test_faults_are_caught_by_the_law(mechanism: str, fault: Perturb) -> None:
    """A true bit kept with the wrong probability, and a last bit in clear, break the exact law."""
    metric = metric_with(mechanism, epsilon=1, values=letters(4))
    laws = [law_of(partial(fault, metric, v, 0)) for v in letters(4)]
    with pytest.raises(AssertionError):
        check_law(metric, laws)


@pytest.mark.parametrize("fault", [true_bit_kept_twice, last_bit_in_clear])
def test_faults_are_caught_by_the_rates(fault: Perturb) -> None:
    """The test of rates sees the same faults in a vector too long to enumerate."""
    metric = metric_with("oue", epsilon=1, values=letters(19))
    with pytest.raises(AssertionError, match="rate of its own"):
        check_rates(*observed(metric, 18, fault), RUNS)
