"""Perturb by local hashing; parameters and payload in `rumor_shared.mechanisms.local_hashing`."""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.local_hashing import LocalHashing
from rumor_shared.part import Part
from rumor_shared.text import canonical_bytes


class LocalHashingPerturber(Part[LocalHashing], Perturber):
    """Perturbs by local hashing."""

    takes = LocalHashing

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return a cell: the value's own in this cohort, or uniformly one of the g - 1 others."""
        mechanism = self.mechanism
        own = mechanism.cell_of(hash_bytes(canonical_bytes(text)), self.metric.key, cohort)
        cell = live.unless(mechanism.keep, own, mechanism.hash_range)
        return cell.to_bytes(mechanism.payload_bytes, "little")

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: a cell, which many values share."""
        mechanism = self.mechanism
        return f"cell {int.from_bytes(payload, 'little')} of {mechanism.hash_range}"
