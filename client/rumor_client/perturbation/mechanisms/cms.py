"""Perturb by count mean sketch (cms, hcms); parameters and payload in
`rumor_shared.mechanisms.cms`.
"""

from __future__ import annotations

from typing import cast

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.bits import encode_bits, set_bits
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.cms import CountMeanSketch
from rumor_shared.metric import Metric
from rumor_shared.probability import ONE
from rumor_shared.text import canonical_bytes


def perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Return m bits, each kept with probability `keep` / 2**64; for hcms one row and its sign."""
    mechanism = cast(CountMeanSketch, metric.mechanism)
    column = mechanism.column_of(hash_bytes(canonical_bytes(text)), metric.key, cohort)
    if not mechanism.hadamard:
        flipped = ONE - mechanism.keep
        vector = live.bits(mechanism.columns, 1 << column, mechanism.keep, flipped)
        return encode_bits(vector, mechanism.columns)
    row = live.below(mechanism.columns)
    negative = (row & column).bit_count() % 2
    if not live.bernoulli(mechanism.keep):
        negative ^= 1
    return (2 * row + negative).to_bytes(mechanism.payload_bytes, "little")


def meaning(metric: Metric, payload: bytes) -> str:
    """Return what a payload says: which columns' bits are set, or one row and its sign."""
    mechanism = cast(CountMeanSketch, metric.mechanism)
    if not mechanism.hadamard:
        return set_bits(payload, mechanism.columns)
    row, negative = divmod(int.from_bytes(payload, "little"), 2)
    return f"row {row} of {mechanism.columns} with sign {'-' if negative else '+'}"
