"""What a mechanism's part on the device does: a perturber, and one that keeps permanent answers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.metric import Metric


@runtime_checkable
class Perturber(Protocol):
    """Perturbs values of one metric. It meets chance through the draws of `live` alone.

    What it does, and how many draws it makes, must not show which value was given.
    """

    def __init__(self, metric: Metric) -> None: ...

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Return the payload of a report of `text`, as `metric.text_of` gives it, in `cohort`."""
        ...

    def meaning(self, payload: bytes) -> str:
        """Return what a payload says, in words for the device's owner: not what the device has."""
        ...


@runtime_checkable
class MemoisedPerturber(Perturber, Protocol):
    """A perturber whose reports of one value all come from one permanent answer."""

    def permanent(self, text: str, cohort: int, randomness: Randomness) -> bytes:
        """Return the permanent answer to `text`; `randomness` follows from the device's secret."""
        ...

    def instantaneous(self, permanent: bytes, live: Randomness) -> bytes:
        """Return the payload of one report behind a permanent answer."""
        ...
