"""Binary randomized response (Warner 1965): the truth with probability p, the other answer
otherwise.

Payload: one byte, 0 for the first value and 1 for the second. Tally: one cell, the number of ones.
p = e^eps / (e^eps + 1), rounded down, so the ratio p / (1 - p) stays at or below e^eps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.errors import MalformedPayload
from rumor_shared.fields import Fields
from rumor_shared.mechanism import Mechanism
from rumor_shared.probability import ONE, as_fraction, round_down


@dataclass(frozen=True)
class Binary(Mechanism):
    """Binary randomized response; `keep` / 2**64 is the probability of the truth."""

    name: str
    values: tuple[str, str]
    keep: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> Binary:
        """Read `epsilon` and `values` (two of them; "false" and "true" if not given)."""
        values = fields.texts("values", 2, 2) if fields.has("values") else ("false", "true")
        epsilon = from_micro(fields.epsilon("epsilon"))
        low, _ = exp_bounds(epsilon)
        return cls(name, (values[0], values[1]), round_down(low / (low + 1)))

    @property
    def payload_bytes(self) -> int:
        """One byte."""
        return 1

    @property
    def cells(self) -> int:
        """One cell: the number of ones."""
        return 1

    @cached_property
    def epsilon_report(self) -> int:
        """ln(p / (1 - p)) of the rounded p."""
        return micro_epsilon(Fraction(self.keep, ONE - self.keep))

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[an answer comes] from a device that has it, and from one that hasn't."""
        keep = as_fraction(self.keep)
        return keep, 1 - keep

    def check_payload(self, payload: bytes) -> None:
        """Accept the bytes 00 and 01 alone."""
        if len(payload) != 1:
            raise MalformedPayload(f"the payload has {len(payload)} bytes; binary needs exactly 1")
        if payload[0] > 1:
            raise MalformedPayload("the payload is neither 0 nor 1")
