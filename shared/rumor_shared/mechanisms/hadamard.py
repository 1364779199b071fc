"""Hadamard response (Acharya, Sun, Zhang 2019): one column index of a Hadamard matrix.

K is the least power of two above k. Value v stands for row v + 1 of the K x K matrix H[r, y] =
(-1)^popcount(r & y); its half S_v are the columns y with +1. The report is uniform in S_v with
probability p = e^eps / (e^eps + 1), rounded down, and uniform in the other half else; a column is
in another value's half with q = 1/2 exactly.

Payload: y as a little-endian integer of the least number of bytes that hold K - 1. Tally: K cells,
how often each column came. The server's sums over all halves are one fast Walsh-Hadamard transform.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.errors import MalformedPayload
from rumor_shared.fields import Fields
from rumor_shared.mechanism import MAX_CELLS, Mechanism
from rumor_shared.probability import ONE, as_fraction, round_down


@dataclass(frozen=True)
class Hadamard(Mechanism):
    """Hadamard response; `keep` / 2**64 is the probability of a column in the value's own half."""

    name: str
    values: tuple[str, ...]
    keep: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> Hadamard:
        """Read `epsilon` and `values` (at least two)."""
        values = fields.texts("values", 2, MAX_CELLS - 1)
        low, _ = exp_bounds(from_micro(fields.epsilon("epsilon")))
        return cls(name, values, round_down(low / (low + 1)))

    @property
    def p(self) -> Fraction:
        """Probability that the column is in the value's own half."""
        return as_fraction(self.keep)

    @property
    def q(self) -> Fraction:
        """Probability that the column is in any one other value's half: 1/2."""
        return Fraction(1, 2)

    @property
    def columns(self) -> int:
        """K, the least power of two above k: row 0 has no other half and stands for no value."""
        return 1 << len(self.values).bit_length()

    @property
    def payload_bytes(self) -> int:
        """As many bytes as the column K - 1 needs."""
        return ((self.columns - 1).bit_length() + 7) // 8

    @property
    def cells(self) -> int:
        """One cell a column."""
        return self.columns

    @cached_property
    def epsilon_report(self) -> int:
        """ln(p / (1 - p)) of the rounded p: both halves are of one size."""
        return micro_epsilon(Fraction(self.keep, ONE - self.keep))

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[the column is in a value's half] with the value, and without it."""
        return self.p, self.q

    def check_payload(self, payload: bytes) -> None:
        """Accept a column below K in exactly `payload_bytes` bytes."""
        if len(payload) != self.payload_bytes:
            raise MalformedPayload(
                f"the payload has {len(payload)} bytes; "
                f"{self.columns} columns need exactly {self.payload_bytes}"
            )
        if int.from_bytes(payload, "little") >= self.columns:
            raise MalformedPayload(f"the payload is not a column in 0 to {self.columns - 1}")
