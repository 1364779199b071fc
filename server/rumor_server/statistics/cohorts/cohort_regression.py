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

Cells of a report vary together, since its value owns exactly one. Of a report that names one cell
they have a multinomial covariance, whose generalised inverse is diagonal. Of bits, where s is the
share of reports that own a cell and V the variance of its debiased bit plus s^2, the covariance is
diag V - s s', whose inverse is diag 1/V + t t' / (1 - s't) with t = s / V (Sherman, Morrison 1950).
Without the second term errors vanish with the noise: at epsilon 14 they were told as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from rumor_server.statistics.cohorts.coincidences import Matrix, add_squares, information, sums
from rumor_server.statistics.decoding.covariance import listed_shares
from rumor_server.statistics.decoding.prior import learn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Law = Literal["bits", "categories"]

# Least squares more than doubles the variance beyond this share of values for each free cell.
_ROOM = 0.5
# Below this variance of a debiased cell, what a fixed population takes off a variance is so much of
# it that single precision would leave few digits.
_SHARP = 0.03
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
    def sharp(self) -> bool:
        """Whether the noise of a cell is far below what the draw of values adds to it."""
        return self.p0 * (1 - self.p0) < _SHARP * self.gain**2

    @property
    def least_variance(self) -> float:
        """Bound below which no unbiased share's variance for a fixed population is, of one report.

        The noise alone of a debiased cell has at least this variance in every direction, and a
        value's column has squares that sum to less than 1 a report.
        """
        own = self.p1 * (1 - self.p1) if self.law == "bits" else self.p0
        return min(own, self.p0 * (1 - self.p0)) / self.gain**2

    @property
    def absent_variance(self) -> float:
        """Ideal variance of an absent value's share, estimated from one report."""
        return self.rate * (1 - self.rate) / self.gap**2


@dataclass(frozen=True, eq=False)
class Regression:
    """`shares` (k,), and the `pilot` (k,) at which cells were weighted.

    `root` (k, k) is R with R'R = D^-1. It is in single precision where D is near the identity but
    for scale, and an error of a millionth in an error is none.
    """

    shares: Floats
    pilot: Floats
    root: Matrix

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
    if owned.shape[1] > _ROOM * tally.free_cells:
        return None
    fit = _step(tally, owned, _pilot(tally, owned))
    # A pilot from counts has the collisions' error. Where the noise is below it, two more steps
    # bring mean squared errors from 2.2 times what is told to 1.0 (16 columns, epsilon 16).
    for _ in range(2 if tally.sharp else 0):
        if fit is not None:
            fit = _step(tally, owned, _shrunk(fit, tally.n))
    return fit


def _step(tally: CohortTally, owned: NDArray[np.integer], pilot: Floats) -> Regression | None:
    """Take one step of Fisher scoring from a pilot; None where values can't be told apart."""
    cohorts = len(owned)
    rates = _rates(tally, owned, pilot)
    spread = rates if tally.law == "categories" else rates * (1 - 2 * tally.p0) + tally.p0**2
    weights = tally.gain**2 / spread
    residual = tally.counts - tally.reports[:, None] * rates
    residual /= tally.gain
    left = weights * residual
    precise = tally.law == "bits" or tally.sharp
    matrix = information(weights / cohorts, owned, np.float64 if precise else np.float32)
    if tally.law == "bits":
        rates -= tally.p0
        rates /= tally.gain
        together = np.multiply(weights, rates, out=weights)
        strength = 1 / (1 - np.einsum("cy,cy->c", together, rates))
        common = np.einsum("cy,cy->c", together, residual)
        left += (strength * common)[:, None] * together
        together *= np.sqrt(strength / cohorts)[:, None]
        add_squares(matrix, together, owned)
    score = (sums(left, owned) - left.sum() / tally.cells) / tally.n
    potrf: Any = get_lapack_funcs("potrf", (matrix,))
    trtri: Any = get_lapack_funcs("trtri", (matrix,))
    factor, failed = potrf(matrix, lower=1, overwrite_a=1)
    if failed:
        return None
    root, _ = trtri(factor, lower=1, overwrite_c=1)
    step = root.T @ (root @ score.astype(matrix.dtype))
    return Regression(pilot + step, pilot, root)


def _shrunk(fit: Regression, n: int) -> Floats:
    """Return a fit's shares as a population's, each shrunk by what the others show of their size.

    A bar that values must pass would give the lucky ones among the rare too much weight.
    """
    variance = fit.variance - fit.pilot * (1 - fit.pilot)
    least = float(np.finfo(np.float64).eps)
    return listed_shares(learn(fit.shares, np.maximum(variance, least) / n).mean)


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
