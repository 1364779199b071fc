"""Perturb by local hashing; parameters and payload in `rumor_shared.mechanisms.local_hashing`."""

from __future__ import annotations

from typing import cast

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.local_hashing import LocalHashing
from rumor_shared.metric import Metric
from rumor_shared.text import canonical_bytes


def perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Return a cell: the value's own in this cohort, or uniformly one of the g - 1 others."""
    mechanism = cast(LocalHashing, metric.mechanism)
    own = mechanism.cell_of(hash_bytes(canonical_bytes(text)), metric.key, cohort)
    cell = live.unless(mechanism.keep, own, mechanism.hash_range)
    return cell.to_bytes(mechanism.payload_bytes, "little")


def meaning(metric: Metric, payload: bytes) -> str:
    """Return what a payload says: a cell, which many values share."""
    mechanism = cast(LocalHashing, metric.mechanism)
    return f"cell {int.from_bytes(payload, 'little')} of {mechanism.hash_range}"
