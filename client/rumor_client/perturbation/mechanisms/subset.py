"""Perturb by subset selection; parameters and payload in `rumor_shared.mechanisms.subset`."""

from __future__ import annotations

from typing import cast

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.bits import set_bits
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.metric import Metric


def perturb(metric: Metric, text: str, cohort: int, live: Randomness) -> bytes:
    """Return a set of w values that holds the value with probability `keep` / 2**64."""
    mechanism = cast(Subset, metric.mechanism)
    truth = metric.indices[text]
    others = uniform_subset(len(mechanism.values) - 1, mechanism.size, live)
    kept = live.bernoulli(mechanism.keep)
    leaving = live.below(mechanism.size)
    members = {i + (i >= truth) for i in others}
    if kept:
        # A uniform w-set less a uniform member is a uniform (w - 1)-set.
        members.remove(sorted(members)[leaving])
        members.add(truth)
    return mechanism.encode(members)


def uniform_subset(n: int, size: int, live: Randomness) -> set[int]:
    """Return a uniform subset of range(n) (Floyd's algorithm: Bentley and Floyd 1987)."""
    chosen: set[int] = set()
    for last in range(n - size, n):
        drawn = live.below(last + 1)
        chosen.add(last if drawn in chosen else drawn)
    return chosen


def meaning(metric: Metric, payload: bytes) -> str:
    """Return what a payload says: a set of values."""
    mechanism = cast(Subset, metric.mechanism)
    values, size = mechanism.values, mechanism.index_bytes
    if not mechanism.listed:
        return set_bits(payload, len(values), values)
    places = [payload[at : at + size] for at in range(0, len(payload), size)]
    members = ", ".join(repr(values[int.from_bytes(place, "little")]) for place in places)
    return f"the set of {members}, {mechanism.size} of {len(values)} values"
