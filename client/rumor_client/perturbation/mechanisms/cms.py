"""Perturb by count mean sketch (cms, hcms); parameters and payload in
`rumor_shared.mechanisms.cms`.
"""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.bits import encode_bits, set_bits
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.cms import CountMeanSketch
from rumor_shared.part import Part
from rumor_shared.probability import ONE
from rumor_shared.text import canonical_bytes


class CountMeanSketchPerturber(Part[CountMeanSketch], Perturber):
    """Perturbs by count mean sketch and its Hadamard form."""

    takes = CountMeanSketch

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return m bits, each kept with probability `keep` / 2**64; for hcms a row and its sign."""
        mechanism = self.mechanism
        column = mechanism.column_of(hash_bytes(canonical_bytes(text)), self.metric.key, cohort)
        if not mechanism.hadamard:
            flipped = ONE - mechanism.keep
            vector = live.bits(mechanism.columns, 1 << column, mechanism.keep, flipped)
            return encode_bits(vector, mechanism.columns)
        row = live.below(mechanism.columns)
        negative = (row & column).bit_count() % 2
        if not live.bernoulli(mechanism.keep):
            negative ^= 1
        return (2 * row + negative).to_bytes(mechanism.payload_bytes, "little")

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: which columns' bits are set, or one row and its sign."""
        mechanism = self.mechanism
        if not mechanism.hadamard:
            return set_bits(payload, mechanism.columns)
        row, negative = divmod(int.from_bytes(payload, "little"), 2)
        return f"row {row} of {mechanism.columns} with sign {'-' if negative else '+'}"
