"""Perturb by k-ary randomized response; parameters and payload in `rumor_shared.mechanisms.krr`."""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.part import Part


class KrrPerturber(Part[Krr], Perturber):
    """Perturbs by k-ary randomized response."""

    takes = Krr

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return the index of the answer: the value's own, or uniformly one of the k - 1 others."""
        mechanism = self.mechanism
        truth = self.metric.indices[text]
        answer = live.unless(mechanism.keep, truth, len(mechanism.values))
        return answer.to_bytes(mechanism.payload_bytes, "little")

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: one of the values."""
        values = self.mechanism.values
        return f"{values[int.from_bytes(payload, 'little')]!r}, one of {len(values)} values"
