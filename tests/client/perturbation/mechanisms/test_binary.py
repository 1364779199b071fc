"""Binary randomized response keeps the contract, and its faults are seen."""

from __future__ import annotations

from functools import partial
from typing import cast

import pytest
from tests.client.perturbation.mechanisms.contract import MechanismContract, check_law, metric_with
from tests.client.perturbation.mechanisms.exact_law import law_of

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.metric import Metric
from rumor_shared.probability import HALF


class TestBinary(MechanismContract):
    """Binary randomized response."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Epsilon from the smallest to the largest."""
        return [
            (metric_with("binary", epsilon=epsilon), ["false", "true"], True)
            for epsilon in (0.001, 0.5, 1, 4, 16)
        ]

    def wide_metric(self) -> Metric:
        """Binary has one length."""
        return metric_with("binary", epsilon=1)


def test_uniform_reroll_is_caught() -> None:
    """An 'answer at random' branch that may land on the truth again breaks the law (ST-02)."""
    metric = metric_with("binary", epsilon=1)
    keep = cast(Binary, metric.mechanism).keep

    def perturb(truth: int, live: Randomness) -> bytes:
        return bytes((truth if live.bernoulli(keep) else int(live.bernoulli(HALF)),))

    with pytest.raises(AssertionError, match="costs more"):
        check_law(metric, [law_of(partial(perturb, v)) for v in (0, 1)])
