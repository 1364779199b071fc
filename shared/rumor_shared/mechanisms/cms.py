"""Apple's count mean sketch and its Hadamard form (Apple Differential Privacy Team 2017).

A report draws a hash function (the cohort) and hashes the value to one of m columns.

    cms    m bits, one set at the column; each bit kept with e^(eps/2) / (e^(eps/2) + 1), rounded
    down
    hcms   a uniform row l of the m x m Hadamard matrix and the entry's sign, (-1)^popcount(l &
    column),
           kept with e^eps / (e^eps + 1), rounded down

Payload: cms m bits, little-endian; hcms the integer 2 l + (1 where the sign is negative),
little-endian, of the least number of bytes that hold 2 m - 1. Tally, a cohort: cms m cells, how
often each bit was set; hcms 2 m cells, how often each integer came. Never the best in accuracy:
here for those who already use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from rumor_shared.bits import check_bits, payload_length
from rumor_shared.epsilon import exp_bounds, from_micro, micro_epsilon
from rumor_shared.errors import MalformedPayload
from rumor_shared.fields import Fields
from rumor_shared.hashing import ValueHash, position, salt
from rumor_shared.mechanism import MAX_CELLS, MAX_PAYLOAD_BYTES, Bits, Mechanism
from rumor_shared.probability import ONE, as_fraction, round_down

_DEFAULT_HASHES = 1024
_MAX_HASH_FUNCTIONS = 1 << 20


@dataclass(frozen=True)
class CountMeanSketch(Mechanism):
    """A count mean sketch; `keep` / 2**64 is the probability that a bit or the sign is kept."""

    name: str
    values: tuple[str, ...] | None
    cohort_count: int
    columns: int
    keep: int

    @classmethod
    def from_fields(cls, name: str, fields: Fields) -> CountMeanSketch:
        """Read `epsilon`, `columns` (a power of two for hcms), `cohorts` (1024) and perhaps
        `values`.
        """
        values = fields.texts("values", 2, MAX_CELLS) if fields.has("values") else None
        epsilon = from_micro(fields.epsilon("epsilon"))
        if name == "hcms":
            columns = fields.power_of_two("columns", MAX_CELLS // 2, default=1024)
            if columns == 1:
                fields.problem("columns", "is 1, so all values look alike", "use 2 or more")
        else:
            columns = fields.integer("columns", 2, MAX_PAYLOAD_BYTES * 8, default=1024)
        cohorts = fields.power_of_two("cohorts", _MAX_HASH_FUNCTIONS, default=_DEFAULT_HASHES)
        low, _ = exp_bounds(epsilon if name == "hcms" else epsilon / 2)
        made = cls(name, values, cohorts, columns, round_down(low / (low + 1)))
        if made.cells * cohorts > MAX_CELLS:
            fields.problem("cohorts", f"x columns passes {MAX_CELLS} cells", "use fewer of either")
        return made

    @property
    def hadamard(self) -> bool:
        """Whether one sign of the Hadamard transform is sent instead of all bits."""
        return self.name == "hcms"

    @property
    def p(self) -> Fraction:
        """Probability that a bit, or the sign, is kept."""
        return as_fraction(self.keep)

    @property
    def cohorts(self) -> int:
        """Number of public hash functions."""
        return self.cohort_count

    @property
    def payload_bytes(self) -> int:
        """ceil(m / 8) bytes, or as many as 2 m - 1 needs."""
        if self.hadamard:
            return ((2 * self.columns - 1).bit_length() + 7) // 8
        return payload_length(self.columns)

    @property
    def cells(self) -> int:
        """One cell a bit, or one a row and sign."""
        return 2 * self.columns if self.hadamard else self.columns

    @cached_property
    def epsilon_report(self) -> int:
        """ln(p / (1 - p)) for the one sign; twice that for two differing bits."""
        ratio = Fraction(self.keep, ONE - self.keep)
        return micro_epsilon(ratio if self.hadamard else ratio**2)

    def column_of(self, value: ValueHash, key: int, cohort: int) -> int:
        """Return the column that a value hashes to under one hash function."""
        return position(value, salt(key, cohort, 0), self.columns)

    def support(self) -> tuple[Fraction, Fraction]:
        """Return P[a report supports a value's column] for the value, and for any other."""
        clear = Fraction(1, 2) if self.hadamard else 1 - self.p
        return self.p, clear + (self.p - clear) / self.columns

    def bit_law(self) -> Bits | None:
        """Return the law of a report's bits; None in the Hadamard form, which sends numbers."""
        if self.hadamard:
            return None
        return Bits(self.cells, 1, float(self.p), float(1 - self.p))

    def free_cells(self) -> int:
        """Return how many cells tell values apart."""
        return self.cohorts * self.columns

    def check_payload(self, payload: bytes) -> None:
        """Accept m bits, or an integer below 2 m in exactly `payload_bytes` bytes."""
        if not self.hadamard:
            check_bits(payload, self.columns)
            return
        if len(payload) != self.payload_bytes:
            raise MalformedPayload(
                f"the payload has {len(payload)} bytes; "
                f"{self.columns} rows need exactly {self.payload_bytes}"
            )
        if int.from_bytes(payload, "little") >= 2 * self.columns:
            raise MalformedPayload(f"the payload is not in 0 to {2 * self.columns - 1}")
