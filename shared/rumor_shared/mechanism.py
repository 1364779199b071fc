"""What every mechanism declares, the same on both sides: its parameters and its probabilities.

A mechanism is one module of the same name in three rooms. The one in `rumor_shared.mechanisms` is a
frozen dataclass of integers made from a metric's table; the one in
`rumor_client.perturbation.mechanisms` perturbs a value with it; the one in
`rumor_server.statistics.mechanisms` turns payloads into tallies and tallies into estimates.
"""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from functools import cache
from types import ModuleType

from rumor_shared.errors import MalformedPayload, UnknownMechanism
from rumor_shared.fields import Fields, is_slug

# A tally has at most this many cells over all its cohorts (design, section 4).
MAX_CELLS = 1 << 22
# A registry whose payload passes this is refused (design, section 7).
MAX_PAYLOAD_BYTES = 64 * 1024
# A kept cohort is a part of a name: eight bits of it at most (design, section 4).
MAX_KEPT_COHORTS = 256

# Mechanisms that share the module of another: the same output law with other parameters.
SHARED_MODULES = {"sue": "unary", "oue": "unary", "basic_rappor": "rappor", "hcms": "cms"}


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

    def epsilon_day(self, reports: int) -> int:
        """Return the micro-epsilon of `reports` reports of one day: an upper bound of their joint
        loss.
        """
        return reports * self.epsilon_report

    def epsilon_life(self, reports: int) -> int:
        """Return the micro-epsilon of a device's first `reports` reports, by count alone."""
        if self.epsilon_infinity is None:
            return reports * self.epsilon_report
        return self.epsilon_infinity * min(reports, self.max_values)

    @abstractmethod
    def check_payload(self, payload: bytes) -> None:
        """Raise MalformedPayload unless this mechanism could have made `payload`."""

    def check_cohort(self, cohort: int) -> None:
        """Raise MalformedPayload unless `cohort` exists; it is 0 where cohorts are unused."""
        if not 0 <= cohort < self.cohorts:
            raise MalformedPayload(f"the cohort is not in 0 to {self.cohorts - 1}")


@cache
def module_name(mechanism: str) -> str:
    """Return the module that implements `mechanism` in each room. Raises UnknownMechanism."""
    if not is_slug(mechanism) or "." in mechanism:
        raise UnknownMechanism(mechanism)
    name = SHARED_MODULES.get(mechanism, mechanism)
    if importlib.util.find_spec(f"rumor_shared.mechanisms.{name}") is None:
        raise UnknownMechanism(mechanism)
    return name


@cache
def mechanism_module(room: str, mechanism: str) -> ModuleType:
    """Import `mechanism`'s module below a package (`rumor_shared`, `rumor_client.perturbation`).

    Raises UnknownMechanism if there is none.
    """
    return importlib.import_module(f"{room}.mechanisms.{module_name(mechanism)}")


def from_fields(name: str, fields: Fields) -> Mechanism:
    """Build the mechanism `name` from a metric's table. Raises UnknownMechanism, RegistryError."""
    module = mechanism_module("rumor_shared", name)
    if name not in module.NAMES:
        raise UnknownMechanism(name)
    mechanism: Mechanism = module.MECHANISM.from_fields(name, fields)
    return mechanism
