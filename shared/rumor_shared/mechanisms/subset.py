"""Subset selection (Wang et al. 2016; Ye and Barg 2018): report a set of w values of the k.

The set holds the value with probability p = w e^eps / (w e^eps + k - w), rounded down; its other
members are a uniform subset of the other k - 1. Two values' laws differ by the ratio p (k - w) /
((1 - p) w). w is whichever of floor and ceil of k / (e^eps + 1) gives the smaller variance; no
mechanism does better at any k (Ye and Barg 2018, corollary IV.2). Another value is in the set with
q = p (w - 1)/(k - 1) + (1 - p) w/(k - 1).

Payload, whichever is shorter for the mechanism: k bits, little-endian, of which w are set; or the w
indices in ascending order, each a little-endian integer of the least number of bytes that hold k -
1. Tally: k cells, how often each value was in the set. A set never travels in the order it was
drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

from rumor_shared.bits import decode_bits, encode_bits, payload_length
from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.errors import MalformedPayload
from rumor_shared.fields import Fields
from rumor_shared.mechanism import MAX_PAYLOAD_BYTES, Mechanism
from rumor_shared.probability import ONE, as_fraction, round_down


@dataclass(frozen=True)
class Subset(Mechanism):
    """Subset selection of `size` values; `keep` / 2**64 is the probability that the value is in the
    set.
    """

    name: str
    values: tuple[str, ...]
    size: int
    keep: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> Subset:
        """Read `epsilon` and `values` (at least two)."""
        values = fields.texts("values", 2, MAX_PAYLOAD_BYTES * 8)
        low, _ = exp_bounds(from_micro(fields.epsilon("epsilon")))
        k = len(values)
        nearest = floor(k / (low + 1))
        sizes = [w for w in (nearest, nearest + 1) if 1 <= w < k] or [1]
        made = [cls(name, values, w, round_down(w * low / (w * low + k - w))) for w in sizes]
        return min(made, key=lambda m: m.mean_variance)

    @property
    def p(self) -> Fraction:
        """Probability that the value is in the set."""
        return as_fraction(self.keep)

    @property
    def q(self) -> Fraction:
        """Probability that any one other value is in the set."""
        w, k = self.size, len(self.values)
        return (self.p * (w - 1) + (1 - self.p) * w) / (k - 1)

    @property
    def mean_variance(self) -> Fraction:
        """Variance of a share's estimate from one report, averaged over a uniform population."""
        p, q, k = self.p, self.q, len(self.values)
        return (p * (1 - p) / k + (1 - Fraction(1, k)) * q * (1 - q)) / (p - q) ** 2

    @property
    def index_bytes(self) -> int:
        """Bytes of one index."""
        return ((len(self.values) - 1).bit_length() + 7) // 8

    @property
    def listed(self) -> bool:
        """Whether the payload lists indices instead of setting bits."""
        return self.size * self.index_bytes < payload_length(len(self.values))

    @property
    def payload_bytes(self) -> int:
        """The shorter of a bit mask and a list of indices."""
        return min(self.size * self.index_bytes, payload_length(len(self.values)))

    @property
    def cells(self) -> int:
        """One cell a value."""
        return len(self.values)

    @cached_property
    def epsilon_report(self) -> int:
        """ln(p (k - w) / ((1 - p) w)) of the rounded p."""
        w, k = self.size, len(self.values)
        return micro_epsilon(Fraction(self.keep * (k - w), (ONE - self.keep) * w))

    def encode(self, members: set[int]) -> bytes:
        """Return the payload of a set of indices."""
        if self.listed:
            width = self.index_bytes
            return b"".join(i.to_bytes(width, "little") for i in sorted(members))
        return encode_bits(sum([1 << i for i in members]), len(self.values))

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[a value is in the set] where the device has it, and where it hasn't."""
        return self.p, self.q

    def check_payload(self, payload: bytes) -> None:
        """Accept exactly w values: a mask of that weight, or ascending indices below k."""
        k, width = len(self.values), self.index_bytes
        if len(payload) != self.payload_bytes:
            raise MalformedPayload(
                f"the payload has {len(payload)} bytes; "
                f"{self.size} of {k} values need exactly {self.payload_bytes}"
            )
        if not self.listed:
            weight = decode_bits(payload, k).bit_count()
            if weight != self.size:
                raise MalformedPayload(f"the payload sets {weight} bits, not {self.size}")
            return
        before = -1
        for at in range(0, len(payload), width):
            index = int.from_bytes(payload[at : at + width], "little")
            if not before < index < k:
                raise MalformedPayload(f"the payload's indices do not ascend within 0 to {k - 1}")
            before = index
