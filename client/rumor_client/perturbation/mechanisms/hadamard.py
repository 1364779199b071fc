"""Perturb by Hadamard response; parameters and payload in `rumor_shared.mechanisms.hadamard`."""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.mechanisms.hadamard import Hadamard
from rumor_shared.part import Part


class HadamardPerturber(Part[Hadamard], Perturber):
    """Perturbs by Hadamard response."""

    takes = Hadamard

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return a column, uniform in the value's own half with probability `keep` / 2**64."""
        mechanism = self.mechanism
        row = self.metric.indices[text] + 1
        column = live.below(mechanism.columns)
        kept = live.bernoulli(mechanism.keep)
        own_half = (row & column).bit_count() % 2 == 0
        if own_half != kept:
            # Toggling a bit of the row maps either half one to one onto the other.
            column ^= row & -row
        return column.to_bytes(mechanism.payload_bytes, "little")

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: a column, which half of the values share."""
        mechanism = self.mechanism
        return f"column {int.from_bytes(payload, 'little')} of {mechanism.columns}"
