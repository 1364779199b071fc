"""Perturb by mixing with a uniform value."""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.part import Part
from uniform_mix.parameters import UniformMix


class UniformMixPerturber(Part[UniformMix], Perturber):
    """Draws a truth and a lie, whichever of them is sent."""

    takes = UniformMix

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return the value's own index with probability m, else any."""
        kept = live.bernoulli(self.mechanism.true)
        other = live.below(len(self.mechanism.values))
        return bytes([self.metric.indices[text] if kept else other])

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: one of the values."""
        return f"{self.mechanism.values[payload[0]]!r}, which may be a random one"
