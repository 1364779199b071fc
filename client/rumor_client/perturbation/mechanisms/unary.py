"""Perturb by unary encoding (sue, oue); parameters are in `rumor_shared.mechanisms.unary`."""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.bits import encode_bits, set_bits
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.part import Part


class UnaryPerturber(Part[Unary], Perturber):
    """Perturbs by unary encoding, symmetric and optimised."""

    takes = Unary

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return k bits: the value's own set with probability p, every other with probability q."""
        mechanism = self.mechanism
        k = len(mechanism.values)
        own = 1 << self.metric.indices[text]
        return encode_bits(live.bits(k, own, mechanism.set_stays, mechanism.clear_sets), k)

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: which values' bits are set."""
        values = self.mechanism.values
        return set_bits(payload, len(values), values)
