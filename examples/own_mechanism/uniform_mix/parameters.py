"""The truth with probability m, else one of all k values, the truth among them.

A value is reported by its own device with p = m + (1 - m) / k, by any other with q = (1 - m) / k,
and p / q <= e^epsilon where m = (e^epsilon - 1) / (e^epsilon - 1 + k), rounded down. Payload: the
value's index in one byte. Tally: k cells, how often each value came.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.errors import MalformedPayload
from rumor_shared.fields import Fields
from rumor_shared.mechanism import Mechanism
from rumor_shared.probability import as_fraction, round_down


@dataclass(frozen=True)
class UniformMix(Mechanism):
    """`true` / 2**64 is m."""

    name: str
    values: tuple[str, ...]
    true: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> UniformMix:
        """Read `epsilon` and `values` (2 to 256)."""
        values = fields.texts("values", 2, 256)
        low, _ = exp_bounds(from_micro(fields.epsilon("epsilon")))
        return cls(name, values, round_down((low - 1) / (low - 1 + len(values))))

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[a value comes] from a device that has it, and from one that hasn't."""
        q = (1 - as_fraction(self.true)) / len(self.values)
        return as_fraction(self.true) + q, q

    @property
    def payload_bytes(self) -> int:
        """One byte."""
        return 1

    @property
    def cells(self) -> int:
        """One cell a value."""
        return len(self.values)

    @property
    def epsilon_report(self) -> int:
        """ln(p / q) of the rounded m."""
        p, q = self.support()
        return micro_epsilon(p / q)

    def check_payload(self, payload: bytes) -> None:
        """Accept the index of a value in one byte."""
        if len(payload) != 1 or payload[0] >= len(self.values):
            raise MalformedPayload("the payload is not one byte that names a value")
