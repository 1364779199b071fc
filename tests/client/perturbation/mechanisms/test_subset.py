"""Subset selection keeps the contract, and its faults are seen."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial
from math import comb
from typing import cast

import pytest
from tests.client.perturbation.mechanisms.contract import (
    MechanismContract,
    check_law,
    letters,
    metric_with,
)
from tests.client.perturbation.mechanisms.exact_law import branches, law_of

from rumor_client.perturbation.mechanisms.subset import uniform_subset
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.errors import MalformedPayload
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.metric import Metric


class TestSubset(MechanismContract):
    """Subset selection."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Domains from two values to six, sets of one to three."""
        return [
            (metric_with("subset", epsilon=epsilon, values=letters(k)), letters(k), True)
            for k in (2, 3, 5, 6)
            for epsilon in (0.001, 0.5, 1, 2, 16)
        ]

    def wide_metric(self) -> Metric:
        """A mask of 38 bytes with eighty values."""
        return metric_with("subset", epsilon=1, values=letters(300))


class TestListedSubset(TestSubset):
    """Subset selection whose payload lists its members."""

    def wide_metric(self) -> Metric:
        """Few members of many values: two bytes each."""
        metric = metric_with("subset", epsilon=5, values=letters(300))
        assert cast(Subset, metric.mechanism).listed
        return metric

    def test_order_carries_nothing(self) -> None:
        """Indices that do not ascend, repeat or pass the domain are refused."""
        mechanism = cast(Subset, self.wide_metric().mechanism)
        indices = list(range(mechanism.size))
        encoded = [i.to_bytes(2, "little") for i in indices]
        mechanism.check_payload(b"".join(encoded))
        for wrong in (
            [*encoded[:-2], encoded[-1], encoded[-2]],
            [*encoded[:-1], encoded[-2]],
            [*encoded[:-1], (300).to_bytes(2, "little")],
        ):
            with pytest.raises(MalformedPayload, match="do not ascend"):
                mechanism.check_payload(b"".join(wrong))


def test_weight_of_a_mask_is_checked() -> None:
    """A mask with another number of bits than w is refused on arrival."""
    mechanism = metric_with("subset", epsilon=1, values=letters(8)).mechanism
    with pytest.raises(MalformedPayload, match="sets 8 bits"):
        mechanism.check_payload(b"\xff")


def test_uniform_subset_is_uniform() -> None:
    """Every subset has the same exact probability."""
    law: Counter[frozenset[int]] = Counter()
    for payload, p in branches(lambda live: bytes(sorted(uniform_subset(5, 2, live)))):
        law[frozenset(payload)] += p  # type: ignore[assignment]
    assert set(law.values()) == {Fraction(1, comb(5, 2))}
    assert len(law) == comb(5, 2)


def test_excluded_value_drawn_again_is_caught() -> None:
    """A set that may re-admit the value after deciding against it costs more than declared."""
    metric = metric_with("subset", epsilon=1.386294, values=letters(5))
    mechanism = cast(Subset, metric.mechanism)

    def perturb(truth: int, live: Randomness) -> bytes:
        if live.bernoulli(mechanism.keep):
            others = uniform_subset(4, mechanism.size - 1, live)
            return mechanism.encode({truth} | {i + (i >= truth) for i in others})
        return mechanism.encode(uniform_subset(5, mechanism.size, live))

    with pytest.raises(AssertionError, match="costs more"):
        check_law(metric, [law_of(partial(perturb, v)) for v in range(5)])


def test_truth_in_the_first_slot_is_caught() -> None:
    """A list that begins with the value where it holds it is told apart with near certainty."""
    metric = metric_with("subset", epsilon=0.5, values=letters(6))
    mechanism = cast(Subset, metric.mechanism)

    def perturb(truth: int, live: Randomness) -> bytes:
        if live.bernoulli(mechanism.keep):
            rest = sorted(uniform_subset(5, mechanism.size - 1, live))
            return bytes([truth, *(i + (i >= truth) for i in rest)])
        return bytes(i + (i >= truth) for i in sorted(uniform_subset(5, mechanism.size, live)))

    with pytest.raises(AssertionError):
        check_law(metric, [law_of(partial(perturb, v)) for v in range(6)])
