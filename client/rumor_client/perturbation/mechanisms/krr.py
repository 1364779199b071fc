"""Perturb by k-ary randomized response; parameters and payload in `rumor_shared.mechanisms.krr`."""

from __future__ import annotations

from typing import cast

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.metric import Metric


def perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Return the index of the answer: the value's own, or uniformly one of the k - 1 others."""
    mechanism = cast(Krr, metric.mechanism)
    truth = metric.indices[text]
    answer = live.unless(mechanism.keep, truth, len(mechanism.values))
    return answer.to_bytes(mechanism.payload_bytes, "little")


def meaning(metric: Metric, payload: bytes) -> str:
    """Return what a payload says: one of the values."""
    values = cast(Krr, metric.mechanism).values
    return f"{values[int.from_bytes(payload, 'little')]!r}, one of {len(values)} values"
