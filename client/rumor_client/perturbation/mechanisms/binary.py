"""Perturb by binary randomized response; parameters and payload in
`rumor_shared.mechanisms.binary`.
"""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.part import Part


class BinaryPerturber(Part[Binary], Perturber):
    """Perturbs by binary randomized response."""

    takes = Binary

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return one byte: the value's index with probability `keep` / 2**64, else the other's."""
        mechanism = self.mechanism
        truth = self.metric.indices[text]
        return bytes((truth if live.bernoulli(mechanism.keep) else 1 - truth,))

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: one of the two values."""
        mechanism = self.mechanism
        return f"{mechanism.values[payload[0]]!r}, one of 2 values"
