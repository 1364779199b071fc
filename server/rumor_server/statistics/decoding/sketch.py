"""What a decoder is given: a tally of cells, and how a value's cells turn into reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Law = Literal["bits", "categories"]


class SketchError(ValueError):
    """A sketch can't be decoded as given; `field` names the argument to correct."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


JOINT_ENTRIES = 1 << 25
"""Largest sum of squared cells for full matrices (256 MB). In wider sketches a value owns so few of
the cells that what two cells share is lost beside the noise; its cells are weighed one by one."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A tally of cells by cohort, with the probabilities that made it.

    `counts` (cohorts, cells) says how often each cell was reported, `n` (cohorts,) how many reports
    each cohort holds. A value owns up to `hashes` cells of its cohort; a cell is reported with
    probability `p1` where the reported value owns it, else with `p0`. Under the law `bits` every
    cell of a report is drawn on its own (RAPPOR, count mean sketch); under `categories` a report
    names exactly one cell (local hashing), so that `p1 + (cells - 1) p0 = 1`.

    Raises `SketchError` where these don't fit together.
    """

    counts: Integers
    n: Integers
    p1: float
    p0: float
    hashes: int
    law: Law = "bits"

    def __post_init__(self) -> None:
        if self.counts.ndim != 2 or self.counts.shape[1] < 2:
            raise SketchError("counts", "needs the shape (cohorts, cells), with two cells or more")
        if self.n.shape != self.counts.shape[:1]:
            raise SketchError("n", "needs one number of reports for each cohort of counts")
        if not 0 <= self.p0 < self.p1 <= 1:
            raise SketchError("p1", "needs 0 <= p0 < p1 <= 1; swap p and q if they are reversed")
        if (self.n < 0).any() or (self.counts < 0).any() or (self.counts > self.n[:, None]).any():
            raise SketchError("counts", "a cell can't be set less than 0 or more than n times")
        if not 1 <= self.hashes < self.cells:
            raise SketchError("hashes", "needs at least 1 and fewer than the cells of a cohort")
        if self.law == "categories":
            if self.hashes != 1:
                raise SketchError("hashes", "must be 1 where a report names exactly one cell")
            if abs(self.p1 + (self.cells - 1) * self.p0 - 1) > 1e-9:
                raise SketchError("p0", "must be (1 - p1) / (cells - 1) where one cell is named")
            if (self.counts.sum(axis=1) != self.n).any():
                raise SketchError("counts", "must add up to n in each cohort: one cell a report")

    @property
    def cells(self) -> int:
        """Cells of one cohort (Bloom bits, or buckets of a hash)."""
        return int(self.counts.shape[1])

    @property
    def reports(self) -> int:
        """Reports of all cohorts."""
        return int(self.n.sum())

    @property
    def freedom(self) -> int:
        """Independent cells that hold reports: one less a cohort where a report names one cell."""
        filled = int(np.count_nonzero(self.n))
        return filled * (self.cells - (self.law == "categories"))

    @property
    def jointly(self) -> bool:
        """Whether the cells of a cohort are weighed jointly, by their full covariance."""
        return self.law == "bits" and self.counts.size * self.cells <= JOINT_ENTRIES

    @property
    def chance(self) -> float:
        """Probability that a string which isn't listed owns a given cell: 1 - (1 - 1/cells)^h."""
        return float(1 - (1 - 1 / self.cells) ** self.hashes)

    @property
    def chance_of_pair(self) -> float:
        """Probability that a string which isn't listed owns two given cells."""
        one, two = (1 - 1 / self.cells) ** self.hashes, (1 - 2 / self.cells) ** self.hashes
        return float(max(0.0, 1 - 2 * one + two))

    def centred(self) -> Floats:
        """Debiased counts less what unlisted strings would give, (cohorts, cells).

        The expectation is `n_j sum_v f_v (owns(v, j, cell) - chance)`: mass that no candidate
        explains spreads evenly, so it needs no column of its own (formulas 1.5).
        """
        n = self.n[:, None].astype(np.float64)
        return (self.counts - n * self.p0) / (self.p1 - self.p0) - n * self.chance
