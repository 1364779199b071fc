"""k-ary randomized response keeps the contract, and its faults are seen."""

from __future__ import annotations

from functools import partial
from typing import cast

import pytest
from tests.client.perturbation.mechanisms.contract import (
    MechanismContract,
    check_law,
    letters,
    metric_with,
)
from tests.client.perturbation.mechanisms.exact_law import law_of

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.metric import Metric


class TestKrr(MechanismContract):
    """k-ary randomized response."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Domains from two values to twenty."""
        return [
            (metric_with("krr", epsilon=epsilon, values=letters(k)), letters(k), True)
            for k in (2, 3, 4, 20)
            for epsilon in (0.001, 0.5, 1, 2, 16)
        ]

    def wide_metric(self) -> Metric:
        """Two bytes."""
        return metric_with("krr", epsilon=1, values=letters(300))


def test_uniform_reroll_is_caught() -> None:
    """A lie drawn among all k values may be the truth, and the law shows it (ST-02)."""
    metric = metric_with("krr", epsilon=1, values=letters(4))
    keep = cast(Krr, metric.mechanism).keep

    def perturb(truth: int, live: Randomness) -> bytes:
        return bytes((truth if live.bernoulli(keep) else live.below(4),))

    with pytest.raises(AssertionError, match="costs more"):
        check_law(metric, [law_of(partial(perturb, v)) for v in range(4)])


def test_probability_of_a_byte_is_caught() -> None:
    """A probability rounded to eight bits, the wrong way, costs more than what is charged."""
    metric = metric_with("krr", epsilon=1, values=letters(4))
    coarse = ((cast(Krr, metric.mechanism).keep >> 56) + 1) << 56

    def perturb(truth: int, live: Randomness) -> bytes:
        other = live.below(3)
        return bytes((truth if live.bernoulli(coarse) else other + (other >= truth),))

    with pytest.raises(AssertionError, match="costs more"):
        check_law(metric, [law_of(partial(perturb, v)) for v in range(4)])


def test_private_output_for_unknown_value_is_caught() -> None:
    """An output that only one value can give is certain disclosure, and the check says so."""
    metric = metric_with("krr", epsilon=1, values=letters(3))
    laws = [law_of(lambda live: bytes((live.below(3),))), law_of(lambda live: b"\x03")]
    with pytest.raises(AssertionError, match="with certainty"):
        check_law(metric, laws)
