"""Perturb by subset selection; parameters and payload in `rumor_shared.mechanisms.subset`."""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.bits import set_bits
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.part import Part


class SubsetPerturber(Part[Subset], Perturber):
    """Perturbs by subset selection."""

    takes = Subset

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return a set of w values that holds the value with probability `keep` / 2**64."""
        mechanism = self.mechanism
        truth = self.metric.indices[text]
        others = uniform_subset(len(mechanism.values) - 1, mechanism.size, live)
        kept = live.bernoulli(mechanism.keep)
        leaving = live.below(mechanism.size)
        members = {i + (i >= truth) for i in others}
        if kept:
            # A uniform w-set less a uniform member is a uniform (w - 1)-set.
            members.remove(sorted(members)[leaving])
            members.add(truth)
        return mechanism.encode(members)

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: a set of values."""
        mechanism = self.mechanism
        values, size = mechanism.values, mechanism.index_bytes
        if not mechanism.listed:
            return set_bits(payload, len(values), values)
        places = [payload[at : at + size] for at in range(0, len(payload), size)]
        members = ", ".join(repr(values[int.from_bytes(place, "little")]) for place in places)
        return f"the set of {members}, {mechanism.size} of {len(values)} values"


def uniform_subset(n: int, size: int, live: Randomness) -> set[int]:
    """Return a uniform subset of range(n) (Floyd's algorithm: Bentley and Floyd 1987)."""
    chosen: set[int] = set()
    for last in range(n - size, n):
        drawn = live.below(last + 1)
        chosen.add(last if drawn in chosen else drawn)
    return chosen
