"""Hadamard response keeps the contract, and its faults are seen."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.client.perturbation.mechanisms.contract import (
    MechanismContract,
    check_law,
    letters,
    metric_with,
)
from tests.client.perturbation.mechanisms.exact_law import report_law

from rumor_shared.errors import MalformedPayload
from rumor_shared.metric import Metric
from rumor_simulations.audit.exact_law import Law


class TestHadamard(MechanismContract):
    """Hadamard response."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Domains whose matrix is as small as can be, and one value larger."""
        return [
            (metric_with("hadamard", epsilon=epsilon, values=letters(k)), letters(k), True)
            for k in (2, 3, 4, 7, 8)
            for epsilon in (0.001, 0.5, 1, 4, 16)
        ]

    def wide_metric(self) -> Metric:
        """Two bytes."""
        return metric_with("hadamard", epsilon=1, values=letters(300))


def test_another_half_is_a_fair_coin() -> None:
    """A column lies in any other value's half with probability exactly 1/2."""
    metric = metric_with("hadamard", epsilon=2, values=letters(6))
    law = report_law(metric, "v2", 0)
    for other in (0, 1, 3, 4, 5):
        inside = sum(p for y, p in law.items() if (y[0] & (other + 1)).bit_count() % 2 == 0)
        assert inside == Fraction(1, 2)


def test_column_outside_the_matrix_is_refused() -> None:
    """Six values make eight columns, and the ninth is no report."""
    with pytest.raises(MalformedPayload, match="0 to 7"):
        metric_with("hadamard", epsilon=2, values=letters(6)).mechanism.check_payload(b"\x08")


def test_shape_by_value_is_caught() -> None:
    """A payload whose length tells truth from lie is refused by the law's check."""
    metric = metric_with("hadamard", epsilon=1, values=letters(2))
    true: Law = {b"\x00": Fraction(3, 4), b"\x00\x01": Fraction(1, 4)}
    lie: Law = {b"\x00\x00": Fraction(1)}
    with pytest.raises(AssertionError, match="with certainty"):
        check_law(metric, [true, lie])
