"""A measurement of the bench, and how times are taken: a busy machine shifts both sides alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """A measured value beside its peer: another library, or the floor that nothing can go below.

    `value` and `peer_value` are in `unit`. Rows without a peer leave both empty; a peer that can't
    be asked here has no value. `aim` is the largest ratio that we are content with.
    """

    name: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    aim: float | None = None

    @property
    def ratio(self) -> float | None:
        """Our value over the peer's; None without a peer."""
        return self.value / self.peer_value if self.peer_value else None

    @property
    def reached(self) -> bool | None:
        """Whether the ratio is within the aim; None where either is missing."""
        return None if self.ratio is None or self.aim is None else self.ratio <= self.aim

    def as_json(self) -> dict[str, Any]:
        """Return the row as the bench's JSON file holds it."""
        return asdict(self) | {"ratio": self.ratio, "reached": self.reached}


def interleaved(measures: Sequence[Callable[[], T]], rounds: int) -> list[list[T]]:
    """Take each measure `rounds` times, by turns, and return the results of each.

    Turns share whatever else the machine does, so a ratio of medians is steadier than its parts.
    """
    taken: list[list[T]] = [[] for _ in measures]
    for _ in range(rounds):
        for measure, results in zip(measures, taken, strict=True):
            results.append(measure())
    return taken


def seconds(call: Callable[[], object], repeats: int = 1) -> float:
    """Return the wall time of one call, in seconds, averaged over `repeats` in a row."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def percentile(results: Sequence[float], percent: int) -> float:
    """Return the percentile `percent` (1 to 99) of at least two results."""
    return statistics.quantiles(results, n=100, method="inclusive")[percent - 1]
