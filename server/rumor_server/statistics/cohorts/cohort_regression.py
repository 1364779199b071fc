"""Shares of a closed domain from cells by cohort: one step of Fisher scoring, exactly weighted.

Each cohort c hashes a value v to one cell H_c(v) of m. Among the reports of a cohort a cell shows
with rate

    r(c, y) = p0 + (p1 - p0) (1/m + sum_v f_v (1[H_c(v) = y] - 1/m))

Counting the reports in a value's cells alone has an error that does not shrink with their number:
the same values collide in the same cohorts each time (formulas 1.5). Least squares on all cells at
once has not, and is unbiased; its variance is 1/(1 - k / (M (m - 1))) of the ideal. Cells are
weighted by the inverse of their variance at the rates that a pilot predicts, which makes it the
efficient estimator, better than the ideal of equal weights where some values are common.

The design is that of equally filled cohorts, which a fresh uniform cohort for each report gives on
average: f = pilot + D^-1 X'W (counts - n_c r) / ((p1 - p0) n) with D = X'WX / M is unbiased for any
pilot and also where cohorts hold one report or none. D^-1 / n is its covariance, were the
population drawn at random; a fixed one has (diag f - f f') / n less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import spotrf, strtri

from rumor_server.statistics.cohorts.coincidences import Singles, information, sums

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Law = Literal["bits", "categories"]

# Least squares more than doubles the variance beyond this share of values for each free cell.
_ROOM = 0.5
# A pilot follows values that stand out by so many standard errors: one in 30,000 others does.
_STANDS_OUT = 4.0


@dataclass(frozen=True, eq=False)
class CohortTally:
    """Counts int64 (cohorts, cells), reports int64 (cohorts,), and the law of one cell.

    A cell is reported with probability `p1` where the value owns it, else `p0`. Under `categories`
    a report names exactly one cell; under `bits` each on its own.
    """

    counts: Integers
    reports: Integers
    p1: float
    p0: float
    law: Law

    @property
    def gain(self) -> float:
        """p1 - p0."""
        return self.p1 - self.p0

    @property
    def cells(self) -> int:
        """Cells of a cohort."""
        return int(self.counts.shape[1])

    @property
    def n(self) -> int:
        """Reports of all cohorts."""
        return int(self.reports.sum())

    @property
    def free_cells(self) -> int:
        """Cells whose rates are independent: one less a cohort where a report names one cell."""
        cohorts, cells = self.counts.shape
        return int(cohorts * (cells - (self.law == "categories")))

    @property
    def rate(self) -> float:
        """Rate of a cell of a value that nobody has, over all hash functions."""
        return self.p0 + self.gain / self.cells

    @property
    def gap(self) -> float:
        """How much more often a value's own cell is reported than such a cell."""
        return self.p1 - self.rate

    @property
    def absent_variance(self) -> float:
        """Ideal variance of an absent value's share, estimated from one report."""
        return self.rate * (1 - self.rate) / self.gap**2


@dataclass(frozen=True, eq=False)
class Regression:
    """`shares` (k,), and the `pilot` (k,) at which cells were weighted.

    `root` (k, k) is R with R'R = D^-1. It is in single precision: D is near the identity but for
    scale, and an error of a millionth in an error is none.
    """

    shares: Floats
    pilot: Floats
    root: Singles

    @property
    def variance(self) -> Floats:
        """n times the variance of each share in a random population, (k,)."""
        return np.asarray(np.einsum("iv,iv->v", self.root, self.root, dtype=np.float64))

    def variance_of_sum(self, values: Integers) -> float:
        """Return n times the variance of the sum of these shares in a random population."""
        return float(np.square(self.root[:, values].sum(axis=1, dtype=np.float64)).sum())


def regress(tally: CohortTally, owned: NDArray[np.integer]) -> Regression | None:
    """Estimate all shares; None where there are too few cells to tell the values apart.

    `owned` (cohorts, k) is the cell of each value in each cohort. There must be a report.
    """
    cohorts, k = owned.shape
    if k > _ROOM * tally.free_cells:
        return None
    pilot = _pilot(tally, owned)
    rates = _rates(tally, owned, pilot)
    spread = rates if tally.law == "categories" else rates * (1 - rates)
    weights = tally.gain**2 / spread
    left = weights * (tally.counts - tally.reports[:, None] * rates) / tally.gain
    score = (sums(left, owned) - left.sum() / tally.cells) / tally.n
    factor, failed = spotrf(information(weights / cohorts, owned), lower=1, overwrite_a=1)
    if failed:
        return None
    root, _ = strtri(factor, lower=1, overwrite_c=1)
    step = root.T @ (root @ score.astype(np.float32))
    return Regression(pilot + step, pilot, root)


def _pilot(tally: CohortTally, owned: NDArray[np.integer]) -> Floats:
    """Return the shares of the values that stand out when cells are simply counted, else 0."""
    n, cells, cohorts = tally.n, tally.cells, len(tally.reports)
    centred = tally.counts - tally.reports[:, None] * tally.rate
    counted = sums(centred, owned) / (n * tally.gap)
    noise = tally.absent_variance / n
    floor = 0.0
    for _ in range(2):
        # What common values add to all others by collisions, which counting can't tell from noise.
        bar = _STANDS_OUT * np.sqrt(noise + floor)
        floor = float(np.square(counted[counted > bar]).sum()) / (cohorts * (cells - 1))
    pilot = np.where(counted > _STANDS_OUT * np.sqrt(noise + floor), counted, 0.0)
    pilot /= max(1.0, float(pilot.sum()))
    return pilot


def _rates(tally: CohortTally, owned: NDArray[np.integer], shares: Floats) -> Floats:
    """Return the rates (cohorts, cells) that these shares predict."""
    cohorts, cells = tally.counts.shape
    rates = np.full((cohorts, cells), tally.p0 + tally.gain * (1 - shares.sum()) / cells)
    rows = np.arange(cohorts)
    for value in np.flatnonzero(shares):
        rates[rows, owned[:, value]] += tally.gain * shares[value]
    return rates
