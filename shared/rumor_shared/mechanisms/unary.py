"""Unary encoding (Wang, Blocki, Li, Jha 2017): one bit a value, each flipped on its own.

Payload: k bits, little-endian within a byte. Tally: k cells, how often each bit was set.
A set bit stays with probability p, a clear bit is set with probability q; two values differ in two
bits, so the ratio is p(1 - q) / (q(1 - p)).

    sue (symmetric)   p = e^(eps/2) / (e^(eps/2) + 1), q = 1 - p     p rounded down
    oue (optimised)   p = 1/2,                         q = 1 / (e^eps + 1)   q rounded up
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from rumor_shared.bits import check_bits, payload_length
from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.fields import Fields
from rumor_shared.mechanism import MAX_PAYLOAD_BYTES, Bits, Mechanism
from rumor_shared.probability import HALF, ONE, as_fraction, round_down, round_up


@dataclass(frozen=True)
class Unary(Mechanism):
    """Unary encoding; `set_stays` and `clear_sets` over 2**64 are p and q."""

    name: str
    values: tuple[str, ...]
    set_stays: int
    clear_sets: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> Unary:
        """Read `epsilon` and `values` (at least two, at most a payload of 64 KiB)."""
        values = fields.texts("values", 2, MAX_PAYLOAD_BYTES * 8)
        epsilon = from_micro(fields.epsilon("epsilon"))
        if name == "oue":
            low, _ = exp_bounds(epsilon)
            return cls(name, values, HALF, round_up(1 / (low + 1)))
        low, _ = exp_bounds(epsilon / 2)
        stays = round_down(low / (low + 1))
        return cls(name, values, stays, ONE - stays)

    @property
    def p(self) -> Fraction:
        """Probability that the value's own bit is set."""
        return as_fraction(self.set_stays)

    @property
    def q(self) -> Fraction:
        """Probability that any other bit is set."""
        return as_fraction(self.clear_sets)

    @property
    def payload_bytes(self) -> int:
        """ceil(k / 8) bytes."""
        return payload_length(len(self.values))

    @property
    def cells(self) -> int:
        """One cell a bit."""
        return len(self.values)

    @cached_property
    def epsilon_report(self) -> int:
        """ln(p(1 - q) / (q(1 - p))) of the rounded p and q."""
        return micro_epsilon(self.p * (1 - self.q) / (self.q * (1 - self.p)))

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[a value's bit is set] where the device has the value, and where it hasn't."""
        return self.p, self.q

    def bit_law(self) -> Bits:
        """Return the law of a report's bits: a value sets one."""
        return Bits(self.cells, 1, float(self.p), float(self.q))

    def check_payload(self, payload: bytes) -> None:
        """Accept exactly k bits with clear padding."""
        check_bits(payload, len(self.values))
