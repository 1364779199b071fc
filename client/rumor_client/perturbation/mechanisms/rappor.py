"""Perturb by RAPPOR; parameters and payload in `rumor_shared.mechanisms.rappor`."""

from __future__ import annotations

from rumor_client.perturbation.perturber import MemoisedPerturber
from rumor_client.perturbation.randomness import Randomness
from rumor_client.perturbation.rappor_secret import respond
from rumor_shared.bits import decode_bits, encode_bits, set_bits
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.part import Part
from rumor_shared.probability import ONE
from rumor_shared.rappor_md5 import RapporClient
from rumor_shared.text import canonical_bytes


class RapporPerturber(Part[Rappor], MemoisedPerturber):
    """Perturbs by RAPPOR and basic RAPPOR."""

    takes = Rappor

    def permanent(self, text: str, cohort: int, randomness: Randomness) -> bytes:
        """Return the permanent response to a value: its Bloom bits, each replaced by a fair coin
        with probability f.

        Where the metric follows one of Google's clients, the coins are drawn as that client draws
        them (`rumor_client.perturbation.rappor_secret`): from its own stream they would be the
        same.
        """
        mechanism = self.mechanism
        bloom = self._bloom(text, cohort)
        if mechanism.client is not RapporClient.EXACT:
            answer = respond(bloom, mechanism.bits, mechanism.half_f, randomness)
            return encode_bits(answer, mechanism.bits)
        stays, flips = ONE - mechanism.half_f, mechanism.half_f
        return encode_bits(randomness.bits(mechanism.bits, bloom, stays, flips), mechanism.bits)

    def instantaneous(self, permanent: bytes, live: Randomness) -> bytes:
        """Return the payload: each bit set with q where the permanent one is set, else with p."""
        mechanism = self.mechanism
        answer = decode_bits(permanent, mechanism.bits)
        reported = live.bits(mechanism.bits, answer, mechanism.q_set, mechanism.p_set)
        return encode_bits(reported, mechanism.bits)

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return the payload where f = 0: the instantaneous response to the Bloom bits."""
        mechanism = self.mechanism
        bloom = encode_bits(self._bloom(text, cohort), mechanism.bits)
        return self.instantaneous(bloom, live)

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: which bits are set, and the values they stand for."""
        mechanism = self.mechanism
        return set_bits(payload, mechanism.bits, mechanism.values)

    def _bloom(self, text: str, cohort: int) -> int:
        if self.mechanism.values is not None:
            return 1 << self.metric.indices[text]
        bits = 0
        for bit in self.mechanism.filter_bits(canonical_bytes(text), self.metric.key, cohort):
            bits |= 1 << bit
        return bits
