"""Perturb by binary randomized response; parameters and payload in
`rumor_shared.mechanisms.binary`.
"""

from __future__ import annotations

from typing import cast

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.metric import Metric


def perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Return one byte: the value's index with probability `keep` / 2**64, else the other's."""
    mechanism = cast(Binary, metric.mechanism)
    truth = metric.indices[text]
    return bytes((truth if live.bernoulli(mechanism.keep) else 1 - truth,))


def meaning(metric: Metric, payload: bytes) -> str:
    """Return what a payload says: one of the two values."""
    mechanism = cast(Binary, metric.mechanism)
    return f"{mechanism.values[payload[0]]!r}, one of 2 values"
