"""The tally: integer counts of perturbed reports, and nothing else about anyone. Tallies add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_shared.mechanism import Mechanism, mechanism_module
from rumor_shared.metric import Metric


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of one metric's revision over any set of days.

    `reports` int64, shape (cohorts,): how many reports each cohort made.
    `counts` int64, shape (cohorts, cells): the sum of their increments.
    """

    reports: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def empty(cls, mechanism: Mechanism) -> Tally:
        """Return the tally of no report at all, in the shape of `mechanism`."""
        cohorts = mechanism.cohorts
        return cls(
            np.zeros(cohorts, dtype=np.int64), np.zeros((cohorts, mechanism.cells), dtype=np.int64)
        )

    @property
    def n(self) -> int:
        """How many reports were counted, over all cohorts."""
        return int(self.reports.sum())

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of both sets of reports. Raises ValueError if the shapes differ."""
        if self.counts.shape != other.counts.shape or self.reports.shape != other.reports.shape:
            raise ValueError(
                f"tallies of shapes {self.counts.shape} and {other.counts.shape} do not add"
            )
        return Tally(self.reports + other.reports, self.counts + other.counts)


def tally_of(metric: Metric, payloads: Sequence[bytes]) -> NDArray[np.int64]:
    """Return int64 (cells,): the sum of the increments of one cohort's checked payloads."""
    module = mechanism_module("rumor_server.statistics", metric.mechanism.name)
    counts: NDArray[np.int64] = module.tally(metric.mechanism, payloads)
    return counts
