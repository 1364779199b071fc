"""Perturb by projective geometry response; parameters are in `rumor_shared.mechanisms.pgr`."""

from __future__ import annotations

from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.mechanisms.pgr import Pgr, canonical_vector, point_of
from rumor_shared.part import Part


class PgrPerturber(Part[Pgr], Perturber):
    """Perturbs by projective geometry response."""

    takes = Pgr

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return a point, uniform among those orthogonal to the value's with probability `keep` /
        2**64.

        Let i be the place of the value's leading 1. An orthogonal point is fixed by its coordinates
        outside i, up to scale: a point of one dimension less. Any other point has one
        representative whose product with the value is 1, fixed by its coordinates outside i. Both
        are drawn, so that the work does not show which is sent.
        """
        mechanism = self.mechanism
        r, t = mechanism.field, mechanism.dimension
        value = canonical_vector(self.metric.indices[text], r, t)
        kept = live.bernoulli(mechanism.keep)
        orthogonal = canonical_vector(live.below(mechanism.orthogonal), r, t - 1)
        other = _digits(live.below(r ** (t - 1)), r, t - 1)
        outside, product = (orthogonal, 0) if kept else (other, 1)
        lead = value.index(1)
        rest = value[:lead] + value[lead + 1 :]
        at_lead = (product - sum(a * b for a, b in zip(rest, outside, strict=True))) % r
        point = point_of([*outside[:lead], at_lead, *outside[lead:]], r)
        return point.to_bytes(mechanism.payload_bytes, "little")

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says: a point, which many values share."""
        mechanism = self.mechanism
        return f"point {int.from_bytes(payload, 'little')} of {mechanism.points}"


def _digits(number: int, base: int, count: int) -> list[int]:
    digits = []
    for _ in range(count):
        number, digit = divmod(number, base)
        digits.append(digit)
    return digits
