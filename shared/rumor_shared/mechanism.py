"""The base class of all mechanisms: parameters, probabilities, and what follows from them alone.

A mechanism is one class in each of four rooms, found by its name in the room's `mechanisms/table`:

    rumor_shared          Mechanism         the parameters of a metric's table, as exact integers
    rumor_client          Perturber         perturbs a value on the device
    rumor_server          Estimator         payloads to a tally, a tally to estimates
    rumor_simulations     PopulationModel   how a whole population answers, what a report gives away
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from rumor_shared.errors import MalformedPayload
from rumor_shared.fields import Fields

# Type checkers take this name as true; `typing` costs its import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

# A tally has at most this many cells over all its cohorts (design, section 4).
MAX_CELLS = 1 << 22
# A registry whose payload passes this is refused (design, section 7).
MAX_PAYLOAD_BYTES = 64 * 1024
# A kept cohort is a part of a name: eight bits of it at most (design, section 4).
MAX_KEPT_COHORTS = 256


@dataclass(frozen=True)
class Bits:
    """The law of a report that is a vector of `cells` bits, drawn one by one.

    A value sets from 1 to `most` of them; those are reported as 1 with `p1`, the others with `p0`.
    """

    cells: int
    most: int
    p1: float
    p0: float


class Mechanism(ABC):
    """The parameters of one metric's mechanism and what follows from them.

    Subclasses are frozen dataclasses that hold `name`. `values` is the closed domain in the
    registry's order, or None where any text may be recorded and candidates are given at the time of
    decoding.
    """

    name: str
    values: tuple[str, ...] | None

    @classmethod
    @abstractmethod
    def from_fields(cls, name: str, fields: Fields) -> Mechanism:
        """Build the mechanism from its metric's table. Raises RegistryError naming the field."""

    @classmethod
    def about(cls) -> str:
        """Return what it is: the first paragraph of its module's docstring."""
        import sys  # for who lists mechanisms

        return " ".join((sys.modules[cls.__module__].__doc__ or "").split("\n\n")[0].split())

    @classmethod
    def of(cls, mechanism: Mechanism) -> Self:
        """Return `mechanism` as one of this class. Raises TypeError for one of another class."""
        if not isinstance(mechanism, cls):
            raise TypeError(f"mechanism {mechanism.name!r} is not of the class {cls.__name__}")
        return mechanism

    @property
    @abstractmethod
    def payload_bytes(self) -> int:
        """Length of every payload in bytes, whatever the value."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """Length of the tally of one cohort, not counting the number of reports."""

    @property
    @abstractmethod
    def epsilon_report(self) -> int:
        """Micro-epsilon that one report costs: from the exact output law, rounded up."""

    @property
    def cohorts(self) -> int:
        """Number of cohorts; 1 where they are unused."""
        return 1

    @property
    def memoised(self) -> bool:
        """Whether a permanent answer stands between the value and the reports."""
        return False

    @property
    def epsilon_infinity(self) -> int | None:
        """Micro-epsilon that all reports of one unchanging value cost; None without memoisation."""
        return None

    @property
    def max_values(self) -> int:
        """Number of values that get a permanent answer of their own; 0 without memoisation."""
        return 0

    def epsilon_life(self, reports: int) -> int:
        """Return the micro-epsilon of a device's first `reports` reports, by count alone."""
        if self.epsilon_infinity is None:
            return reports * self.epsilon_report
        return self.epsilon_infinity * min(reports, self.max_values)

    def support(self) -> tuple[Fraction, Fraction] | None:
        """Return (p, q): how likely a report supports a value that its device has, or has not.

        Either may be the larger. None where reports don't support values one by one.
        """
        return None

    def bit_law(self) -> Bits | None:
        """Return the law of a report's bits, None where a report isn't a vector of bits.

        A report that is one number has no shape to test: each number is as likely as some
        population makes it. One that is a set of fixed size has its size checked on arrival.
        """
        return None

    def cell_chances(self) -> tuple[float, float] | None:
        """Return the least and the largest chance that a report counts in one cell of its cohort.

        None where every cell is as common as some population makes it.
        """
        bits = self.bit_law()
        return None if bits is None else (min(bits.p1, bits.p0), max(bits.p1, bits.p0))

    def free_cells(self) -> int | None:
        """Return how many cells a regression tells values apart by, None where there is none."""
        return None

    @property
    def pure(self) -> bool:
        """Whether each report adds to every estimate on its own, with no regression between.

        So it is over a closed domain, unless cells are told apart by one.
        """
        return self.values is not None and self.free_cells() is None

    @abstractmethod
    def check_payload(self, payload: bytes) -> None:
        """Raise MalformedPayload unless this mechanism could have made `payload`."""

    def check_cohort(self, cohort: int) -> None:
        """Raise MalformedPayload unless `cohort` exists; it is 0 where cohorts are unused."""
        if not 0 <= cohort < self.cohorts:
            raise MalformedPayload(f"the cohort is not in 0 to {self.cohorts - 1}")
