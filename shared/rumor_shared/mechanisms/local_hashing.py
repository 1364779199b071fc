"""Local hashing over public cohorts (Wang et al. 2017; cohorts and regression instead of private
seeds).

A report draws a cohort c of M, hashes the value to one of g cells by that cohort's hash, and
answers by randomised response over the cells: the value's own cell with p = e^eps / (e^eps + g -
1), rounded down, else one of the others. g = round(e^eps + 1) is the optimum. Tally: M x g cells;
the server decodes by weighted least squares on them.

`values` closes the domain; without it any text may be recorded and candidates are given when
decoding. Payload: the cell as a little-endian integer of the least number of bytes that hold g - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.errors import MalformedPayload
from rumor_shared.fields import Fields
from rumor_shared.hashing import ValueHash, position, salt
from rumor_shared.mechanism import MAX_CELLS, Mechanism
from rumor_shared.probability import ONE, as_fraction, round_down

# 4096 cohorts come within 10% of ideal variance at a thousand values, 16384 within 4% (measured).
_DEFAULT_COHORTS = 4096
_MAX_COHORTS = 1 << 20


@dataclass(frozen=True)
class LocalHashing(Mechanism):
    """Local hashing to `hash_range` cells; `keep` / 2**64 is the probability of the value's own
    cell.
    """

    name: str
    values: tuple[str, ...] | None
    cohort_count: int
    hash_range: int
    keep: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> LocalHashing:
        """Read `epsilon`, perhaps `values`, `cohorts` (4096) and `hash_range` (e^epsilon + 1)."""
        values = fields.texts("values", 2, MAX_CELLS) if fields.has("values") else None
        low, _ = exp_bounds(from_micro(fields.epsilon("epsilon")))
        cohorts = fields.power_of_two("cohorts", _MAX_COHORTS, default=_DEFAULT_COHORTS)
        ideal = max(2, floor(low + 1 + Fraction(1, 2)))
        g = fields.integer("hash_range", 2, MAX_CELLS, default=ideal)
        if cohorts * g > MAX_CELLS:
            fields.problem(
                "cohorts", f"x hash_range {g} passes {MAX_CELLS} cells", "use fewer of either"
            )
        return cls(name, values, cohorts, g, round_down(low / (low + g - 1)))

    @property
    def p(self) -> Fraction:
        """Probability that the report is the value's own cell."""
        return as_fraction(self.keep)

    @property
    def lie(self) -> Fraction:
        """Probability of each cell that is not the value's own, in its cohort."""
        return (1 - self.p) / (self.hash_range - 1)

    @property
    def cohorts(self) -> int:
        """Number of public hash functions."""
        return self.cohort_count

    @property
    def payload_bytes(self) -> int:
        """As many bytes as the cell g - 1 needs."""
        return ((self.hash_range - 1).bit_length() + 7) // 8

    @property
    def cells(self) -> int:
        """One cell a hash value."""
        return self.hash_range

    @cached_property
    def epsilon_report(self) -> int:
        """ln(p (g - 1) / (1 - p)) of the rounded p."""
        return micro_epsilon(Fraction(self.keep * (self.hash_range - 1), ONE - self.keep))

    def cell_of(self, value: ValueHash, key: int, cohort: int) -> int:
        """Return the cell that a value hashes to in a cohort."""
        return position(value, salt(key, cohort, 0), self.hash_range)

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[a report shows a value's cell] for the value and, over all hashes, any other."""
        return self.p, Fraction(1, self.hash_range)

    def free_cells(self) -> int:
        """Return how many cells tell values apart: one less a cohort than there are."""
        return self.cohorts * (self.hash_range - 1)

    def check_payload(self, payload: bytes) -> None:
        """Accept a cell below g in exactly `payload_bytes` bytes."""
        if len(payload) != self.payload_bytes:
            raise MalformedPayload(
                f"the payload has {len(payload)} bytes; "
                f"{self.hash_range} cells need exactly {self.payload_bytes}"
            )
        if int.from_bytes(payload, "little") >= self.hash_range:
            raise MalformedPayload(f"the payload is not a cell in 0 to {self.hash_range - 1}")
