"""Apple's count mean sketch and its Hadamard form keep the contract."""

from __future__ import annotations

import pytest
from tests.client.perturbation.mechanisms.contract import MechanismContract, letters, metric_with

from rumor_shared.errors import MalformedPayload, RegistryError
from rumor_shared.metric import Metric


class TestCms(MechanismContract):
    """Count mean sketch."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Five columns."""
        return [
            (metric_with("cms", epsilon=epsilon, cohorts=4, columns=5), letters(6), True)
            for epsilon in (0.001, 0.5, 1, 4, 16)
        ]

    def wide_metric(self) -> Metric:
        """Three bytes, the last with three bits."""
        return metric_with("cms", epsilon=1, cohorts=4, columns=19)


class TestHcms(MechanismContract):
    """Hadamard count mean sketch."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Eight columns."""
        return [
            (metric_with("hcms", epsilon=epsilon, cohorts=4, columns=8), letters(6), True)
            for epsilon in (0.001, 0.5, 1, 4, 16)
        ]

    def wide_metric(self) -> Metric:
        """Two bytes."""
        return metric_with("hcms", epsilon=1, cohorts=4, columns=1024)


@pytest.mark.parametrize(
    ("name", "columns", "field"),
    [("hcms", 6, "columns"), ("hcms", 1, "columns"), ("cms", 1, "columns")],
)
def test_columns_that_cannot_serve(name: str, columns: int, field: str) -> None:
    """A Hadamard matrix has a power of two of columns, and one column tells nothing apart."""
    with pytest.raises(RegistryError, match=rf"metrics\.answer\.{field}"):
        metric_with(name, epsilon=1, columns=columns)


def test_row_outside_the_matrix_is_refused() -> None:
    """Eight rows with a sign are sixteen payloads."""
    with pytest.raises(MalformedPayload, match="0 to 15"):
        metric_with("hcms", epsilon=1, columns=8).mechanism.check_payload(b"\x10")
