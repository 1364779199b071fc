"""Local hashing keeps the contract within each public cohort."""

from __future__ import annotations

from typing import cast

import pytest
from tests.client.perturbation.mechanisms.contract import MechanismContract, letters, metric_with
from tests.client.perturbation.mechanisms.exact_law import report_law

from rumor_shared.errors import MalformedPayload, RegistryError
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.local_hashing import LocalHashing
from rumor_shared.metric import Metric


class TestLocalHashing(MechanismContract):
    """Local hashing."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Any text; ten values meet in few cells, and some two of them differ."""
        return [
            (metric_with("local_hashing", epsilon=epsilon, cohorts=8), letters(10), True)
            for epsilon in (0.001, 0.5, 1, 2, 4)
        ]

    def wide_metric(self) -> Metric:
        """Two bytes: 404 cells."""
        return metric_with("local_hashing", epsilon=6, cohorts=64)


def test_values_that_collide_look_alike() -> None:
    """Two values in one cell of a cohort have the same law there: a public hash adds no leak."""
    metric = metric_with("local_hashing", epsilon=1, cohorts=8)
    mechanism = cast(LocalHashing, metric.mechanism)
    cells = [mechanism.cell_of(hash_bytes(v.encode()), metric.key, 5) for v in letters(10)]
    laws = [report_law(metric, v, 5) for v in letters(10)]
    for i in range(10):
        for j in range(10):
            assert (laws[i] == laws[j]) == (cells[i] == cells[j])


@pytest.mark.parametrize(("epsilon", "g"), [(0.5, 3), (1, 4), (2, 8), (3, 21), (4, 56), (5, 149)])
def test_published_hash_ranges(epsilon: float, g: int) -> None:
    """g = round(e^eps + 1), as tabulated."""
    mechanism = cast(LocalHashing, metric_with("local_hashing", epsilon=epsilon).mechanism)
    assert mechanism.hash_range == g


def test_tally_is_bounded() -> None:
    """Cohorts times cells beyond 2**22 are refused by name."""
    with pytest.raises(RegistryError, match=r"cohorts: x hash_range 1098 passes"):
        metric_with("local_hashing", epsilon=7, cohorts=8192)


def test_cell_outside_the_range_is_refused() -> None:
    """Four cells are 0 to 3."""
    with pytest.raises(MalformedPayload, match="0 to 3"):
        metric_with("local_hashing", epsilon=1).mechanism.check_payload(b"\x04")
