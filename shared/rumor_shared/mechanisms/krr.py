"""k-ary randomized response (Kairouz, Bonawitz, Ramage 2016): the truth with probability p, else
one of the others.

Payload: the index of the answer as a little-endian integer of the least number of bytes that hold k
- 1. Tally: k cells, how often each answer came. p = e^eps / (e^eps + k - 1), rounded down; each
  other answer has
q = (1 - p) / (k - 1), exactly. The lie is drawn among the other k - 1 answers, so it never hits the
truth.
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
class Krr(Mechanism):
    """k-ary randomized response; `keep` / 2**64 is the probability of the truth."""

    name: str
    values: tuple[str, ...]
    keep: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> Krr:
        """Read `epsilon` and `values` (at least two)."""
        values = fields.texts("values", 2, MAX_CELLS)
        low, _ = exp_bounds(from_micro(fields.epsilon("epsilon")))
        return cls(name, values, round_down(low / (low + len(values) - 1)))

    @property
    def p(self) -> Fraction:
        """Probability that the answer is the value."""
        return as_fraction(self.keep)

    @property
    def q(self) -> Fraction:
        """Probability of each answer that is not the value."""
        return (1 - self.p) / (len(self.values) - 1)

    @property
    def payload_bytes(self) -> int:
        """As many bytes as the index k - 1 needs."""
        return ((len(self.values) - 1).bit_length() + 7) // 8

    @property
    def cells(self) -> int:
        """One cell an answer."""
        return len(self.values)

    @cached_property
    def epsilon_report(self) -> int:
        """ln(p / q) of the rounded p."""
        return micro_epsilon(Fraction(self.keep * (len(self.values) - 1), ONE - self.keep))

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[an answer comes] from a device that has it, and from one that hasn't."""
        return self.p, self.q

    def cell_chances(self) -> tuple[float, float]:
        """Return P[an answer comes] where nobody has it and where everyone does."""
        return float(self.q), float(self.p)

    def check_payload(self, payload: bytes) -> None:
        """Accept an index below k in exactly `payload_bytes` bytes."""
        if len(payload) != self.payload_bytes:
            raise MalformedPayload(
                f"the payload has {len(payload)} bytes; "
                f"{len(self.values)} values need exactly {self.payload_bytes}"
            )
        if int.from_bytes(payload, "little") >= len(self.values):
            raise MalformedPayload(f"the payload is not an index in 0 to {len(self.values) - 1}")
