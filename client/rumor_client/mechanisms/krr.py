"""Perturb by k-ary randomized response; parameters and payload in `rumor_shared.mechanisms.krr`."""

from __future__ import annotations

from typing import cast

from rumor_client.randomness import Randomness
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.metric import Metric


def perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Return the index of the answer: the value's own, or uniformly one of the k - 1 others."""
    mechanism = cast(Krr, metric.mechanism)
    truth = metric.indices[text]
    kept = live.bernoulli(mechanism.keep)
    # Drawn in either case, so that the work done does not show which branch was taken.
    other = live.below(len(mechanism.values) - 1)
    answer = truth if kept else other + (other >= truth)
    return answer.to_bytes(mechanism.payload_bytes, "little")
