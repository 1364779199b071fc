"""Mechanisms of other people's packages, found by entry points of the group `rumor.mechanisms`.

    [project.entry-points."rumor.mechanisms"]
    staircase = "staircase.parts"

The entry point's name is the mechanism's; what it names is a module, or any object, with the four
functions of `MechanismPackage`. Each imports its room's part when it is called, so that a device
needs neither numpy nor the collector. Entry points are read for names that aren't built in alone:
that takes some 25 ms.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

from rumor_shared.errors import UnknownMechanism

# Type checkers take this name as true; the import waits until a name isn't built in.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "rumor.mechanisms"


class MechanismPackage(Protocol):
    """What an entry point gives: a function for each room, which returns the room's class.

    A class is made from a metric (`rumor_shared.part.Part`) and checked by the room that asks.
    """

    def parameters(self) -> object:
        """Return a subclass of `rumor_shared.mechanism.Mechanism`."""

    def perturber(self) -> object:
        """Return a `rumor_client.perturbation.perturber.Perturber`."""

    def estimator(self) -> object:
        """Return a `rumor_server.statistics.mechanisms.estimator.Estimator`."""

    def population_model(self) -> object:
        """Return a `rumor_simulations.mechanisms.population_model.PopulationModel`."""


@cache
def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def names() -> tuple[str, ...]:
    """Return the mechanisms that other packages bring, sorted."""
    return tuple(sorted(_entry_points()))


@cache
def package(name: str) -> MechanismPackage:
    """Return the package of a mechanism. Raises UnknownMechanism where there is none."""
    entry = _entry_points().get(name)
    if entry is None:
        raise UnknownMechanism(name)
    found: MechanismPackage = entry.load()
    return found
