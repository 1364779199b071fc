"""What every mechanism promises, as a test class to subclass.

A subclass gives `small_metrics()`, whose domains are small enough to enumerate, and
`wide_metric()`, whose payload is long enough to have ends. The checks are functions of a law or of
payloads, so that planted faults can be held against them too.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from typing import Any

import pytest
from tests.client.perturbation.mechanisms.exact_law import largest_ratio, report_law

from rumor_client.perturbation.mechanisms.table import memoised_perturber, perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.epsilon import micro_epsilon
from rumor_shared.errors import MalformedPayload
from rumor_shared.metric import Metric
from rumor_shared.registry import registry_of
from rumor_simulations.audit.exact_law import Law

# Two-sided z whose false-alarm rate is 1e-9, so that a thousand bit indices together stay at 1e-6.
Z_ONE_IN_A_BILLION = 6.11


def metric_with(mechanism: str, **fields: Any) -> Metric:
    """Return a metric of a one-metric registry."""
    table = {
        "revision": 1,
        "mechanism": mechanism,
        "owner": "tests",
        "purpose": "tests",
        "expires": date(2030, 1, 1),
        **{k: Decimal(repr(v)) if isinstance(v, float) else v for k, v in fields.items()},
    }
    return registry_of({"metrics": {"answer": table}}).metric("answer")


def letters(k: int) -> list[str]:
    """Return k distinct values."""
    return [f"v{i}" for i in range(k)]


def seeded(seed: int) -> Randomness:
    """Return repeatable randomness."""
    return Randomness(random.Random(seed).randbytes)


def check_law(metric: Metric, laws: Sequence[Law], *, tight: bool = True) -> None:
    """Assert that the laws are laws, that no output identifies a value, and that epsilon is what it
    costs.
    """
    for law in laws:
        assert sum(law.values()) == 1, "the probabilities do not sum to 1"
    spent = micro_epsilon(largest_ratio(list(laws)))
    assert spent <= metric.mechanism.epsilon_report, "the law costs more than what is charged"
    if tight:
        assert spent == metric.mechanism.epsilon_report, "the law costs less than what is charged"


def check_payloads(metric: Metric, laws: Sequence[Law]) -> None:
    """Assert that every output has the declared length and is accepted on arrival."""
    for law in laws:
        for payload in law:
            assert len(payload) == metric.mechanism.payload_bytes, "the length depends on chance"
            metric.mechanism.check_payload(payload)


def check_rates(counts: Sequence[int], rates: Sequence[Fraction], runs: int) -> None:
    """Assert that each count is binomial(runs, rate): false-alarm rate 1e-9 a count, two-sided."""
    for i, (count, rate) in enumerate(zip(counts, rates, strict=True)):
        sd = sqrt(runs * rate * (1 - rate))
        assert abs(count - runs * rate) <= Z_ONE_IN_A_BILLION * sd, f"bit {i} has a rate of its own"


def bit_counts(payloads: Sequence[bytes], bits: int) -> list[int]:
    """Return how often each bit is set."""
    totals = [0] * bits
    for payload in payloads:
        vector = int.from_bytes(payload, "little")
        for i in range(bits):
            totals[i] += vector >> i & 1
    return totals


class MechanismContract(ABC):
    """Subclass it, and every test below runs for the mechanism."""

    @abstractmethod
    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Return metrics, values to enumerate, and whether these reach the worst case."""

    @abstractmethod
    def wide_metric(self) -> Metric:
        """Return a metric with a payload of several bytes, the last one not full, or the longest
        there is.
        """

    def value_of(self, metric: Metric) -> str:
        """Return a value of the wide metric."""
        values = metric.mechanism.values
        return values[-1] if values else "a value"

    def laws(self, metric: Metric, values: Sequence[str], cohort: int) -> list[Law]:
        """Return the exact law of the shipped code for each value."""
        return [report_law(metric, value, cohort) for value in values]

    def test_exact_law(self) -> None:
        """The exact law of the shipped code costs what is charged, and no output identifies a
        value.
        """
        for metric, values, tight in self.small_metrics():
            laws = self.laws(metric, values, metric.mechanism.cohorts - 1)
            check_law(metric, laws, tight=tight)
            check_payloads(metric, laws)

    def test_length_is_constant(self) -> None:
        """A payload has the declared length whatever the value and the draw."""
        metric = self.wide_metric()
        values = metric.mechanism.values or ("", "a", "é" * 700)
        live = seeded(1)
        for value in (values[0], values[len(values) // 2], values[-1]):
            for _ in range(50):
                if metric.mechanism.memoised:
                    part = memoised_perturber(metric)
                    payload = part.instantaneous(part.permanent(value, 0, live), live)
                else:
                    payload = perturber(metric).perturb(value, 0, live)
                check_payloads(metric, [{payload: Fraction(1)}])

    @pytest.mark.parametrize("change", [-1, 1])
    def test_wrong_length_is_refused(self, change: int) -> None:
        """A payload one byte short or long is refused on arrival."""
        metric = self.wide_metric()
        size = metric.mechanism.payload_bytes + change
        with pytest.raises(MalformedPayload):
            metric.mechanism.check_payload(bytes(size))

    def test_life_is_monotone(self) -> None:
        """Another report never lowers what a life has cost; a report's cost is an integer."""
        for metric, _, _ in self.small_metrics():
            assert isinstance(metric.mechanism.epsilon_report, int)
            lives = [metric.mechanism.epsilon_life(t) for t in range(20)]
            assert lives == sorted(lives)
            assert lives[0] == 0
