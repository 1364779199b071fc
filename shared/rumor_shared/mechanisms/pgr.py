"""Projective geometry response (Feldman, Nelson, Nguyen, Talwar 2022): one point of PG(t - 1, r).

The field has r elements, r prime, and t is the least dimension with K = (r^t - 1)/(r - 1) >= k
points. Value v stands for point v. c_s = (r^(t-1) - 1)/(r - 1) points are orthogonal to it, and c_i
= (r^(t-2) - 1)/(r - 1) to it and to any one other point. The report is a uniform orthogonal point
with p = e^eps c_s / ((e^eps - 1) c_s + K), rounded down, and a uniform other point else, so the
ratio is p (K - c_s) / ((1 - p) c_s), and a point is orthogonal to another value with
q = p c_i / c_s + (1 - p)(c_s - c_i)/(K - c_s).

Of the primes around e^eps + 1, the ideal, the one with the smallest variance is taken, unless the
registry names a `field`. A point is its canonical vector, the first non-zero coordinate being 1.
Points are numbered by how many coordinates follow that 1: those with j of them begin at (r^j -
1)/(r - 1), ordered by these coordinates read as a number in base r, most significant first.

Payload: the point's number as a little-endian integer of the least number of bytes that hold K - 1.
Tally: K cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.errors import MalformedPayload
from rumor_shared.fields import Fields
from rumor_shared.mechanism import MAX_CELLS, Mechanism
from rumor_shared.probability import ONE, as_fraction, round_down


@dataclass(frozen=True)
class Pgr(Mechanism):
    """Projective geometry response over `field` elements in `dimension` coordinates.

    `keep` / 2**64 is the probability of a point orthogonal to the value's own.
    """

    name: str
    values: tuple[str, ...]
    field: int
    dimension: int
    keep: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> Pgr:
        """Read `epsilon`, `values` (at least two) and perhaps `field`, a prime."""
        values = fields.texts("values", 2, MAX_CELLS)
        low, _ = exp_bounds(from_micro(fields.epsilon("epsilon")))
        if fields.has("field"):
            given = fields.integer("field", 2, MAX_CELLS - 1)
            if not _is_prime(given):
                fields.problem("field", "is not a prime", "choose a prime near e^epsilon + 1")
            primes = [given]
        else:
            primes = _primes_around(low + 1)
        made = [cls._over(name, values, r, low) for r in primes]
        fitting = [m for m in made if m.points <= MAX_CELLS]
        if not fitting:
            fields.problem(
                "epsilon", f"asks for a tally over {MAX_CELLS} cells", "use `subset` or `krr`"
            )
        return min(fitting, key=lambda m: m.variance)

    @classmethod
    def _over(cls, name: str, values: tuple[str, ...], r: int, ratio: Fraction) -> Pgr:
        t = 2
        while _points(r, t) < len(values):
            t += 1
        shape = cls(name, values, r, t, 0)
        own, points = shape.orthogonal, shape.points
        return replace(shape, keep=round_down(ratio * own / ((ratio - 1) * own + points)))

    @cached_property
    def points(self) -> int:
        """K, the number of points."""
        return _points(self.field, self.dimension)

    @cached_property
    def orthogonal(self) -> int:
        """c_s, how many points are orthogonal to one."""
        return _points(self.field, self.dimension - 1)

    @property
    def p(self) -> Fraction:
        """Probability that the point is orthogonal to the value's own."""
        return as_fraction(self.keep)

    @property
    def q(self) -> Fraction:
        """Probability that the point is orthogonal to any one other value's."""
        own, both = self.orthogonal, _points(self.field, self.dimension - 2)
        return self.p * Fraction(both, own) + (1 - self.p) * Fraction(own - both, self.points - own)

    @property
    def variance(self) -> Fraction:
        """Variance of an absent value's share, estimated from one report: q(1 - q)/(p - q)^2."""
        return self.q * (1 - self.q) / (self.p - self.q) ** 2

    @property
    def payload_bytes(self) -> int:
        """As many bytes as the point K - 1 needs."""
        return ((self.points - 1).bit_length() + 7) // 8

    @property
    def cells(self) -> int:
        """One cell a point."""
        return self.points

    @cached_property
    def epsilon_report(self) -> int:
        """ln(p (K - c_s) / ((1 - p) c_s)) of the rounded p."""
        others = self.points - self.orthogonal
        return micro_epsilon(Fraction(self.keep * others, (ONE - self.keep) * self.orthogonal))

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[the point is orthogonal to a value's] with the value, and without it."""
        return self.p, self.q

    def check_payload(self, payload: bytes) -> None:
        """Accept a point below K in exactly `payload_bytes` bytes."""
        if len(payload) != self.payload_bytes:
            raise MalformedPayload(
                f"the payload has {len(payload)} bytes; "
                f"{self.points} points need exactly {self.payload_bytes}"
            )
        if int.from_bytes(payload, "little") >= self.points:
            raise MalformedPayload(f"the payload is not a point in 0 to {self.points - 1}")


def canonical_vector(point: int, field: int, dimension: int) -> list[int]:
    """Return the vector of a point: its first non-zero coordinate is 1."""
    following, first, size = 0, 0, 1
    while point >= first + size:
        first += size
        size *= field
        following += 1
    rest = point - first
    digits = []
    for _ in range(following):
        rest, digit = divmod(rest, field)
        digits.append(digit)
    return [0] * (dimension - following - 1) + [1] + digits[::-1]


def point_of(vector: list[int], field: int) -> int:
    """Return the number of the point that a non-zero vector lies on, whatever its scale."""
    lead = next(i for i, coordinate in enumerate(vector) if coordinate)
    scale = pow(vector[lead], -1, field)
    number = 0
    for coordinate in vector[lead + 1 :]:
        number = number * field + coordinate * scale % field
    following = len(vector) - lead - 1
    return _points(field, following) + number


def _points(field: int, dimension: int) -> int:
    # int() because mypy can't know that these powers are not negative.
    return int(field**dimension - 1) // (field - 1)


def _primes_around(ideal: Fraction) -> list[int]:
    above = max(2, ceil(ideal))
    while not _is_prime(above):
        above += 1
    below = above - 1
    while below > 1 and not _is_prime(below):
        below -= 1
    return [below, above] if below > 1 else [above]


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))
