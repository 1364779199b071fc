"""Do several segments have the same shares? One test for all of them, and all values.

Each segment is a sample of its own; equal means drawn from one population. Three tests:

- `same_answers` (krr): given its margins, the table of answers by segment is hypergeometric under
  equal shares, and Pearson's statistic is judged against tables drawn so: *exact* (Monte Carlo).
- `same_bits` (unary): so is each bit's row of set and unset; the bits' tests go through Holm.
- `same_shares` (any mechanism, and p or q that differ between segments): Wald's statistic with the
  full covariance, *normal*. Shares that add up to 1 for certain leave it singular: what all
  segments are certain of is left out of it, and of its degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.estimation.pair_support import PairSupport
from rumor_server.statistics.intervals.count_law import Counts
from rumor_server.statistics.intervals.significance import check_alpha
from rumor_server.statistics.postprocessing import norm_sub

# Drawn tables: a p-value near .05 then has a standard error of a tenth of it.
_TABLES = 1999
_BLOCK = 250
# From so many expected in every cell on, Pearson's statistic is chi-square for all purposes; the
# tails that Holm looks at need the more.
_LARGE = 500
# Draws for each 1 / level of the smallest level that a bit may be judged at.
_RESOLUTION = 20
# Directions whose variance is below this part of the largest are certain.
_CERTAIN = 1e-9


@dataclass(frozen=True)
class Homogeneity:
    """`p_value` is that of equal shares in all segments; `significant` is p_value <= alpha."""

    p_value: float
    alpha: float
    method: Literal["monte carlo", "chi-square", "holm", "wald"]

    @property
    def significant(self) -> bool:
        """Whether the segments differ."""
        return self.p_value <= self.alpha


def same_answers(counts: Counts, *, alpha: float) -> Homogeneity:
    """Test counts (segments, k) of reports that name one value each, with equal p and q.

    Raises ValueError for fewer than two segments, an empty one, and an alpha outside (0, 1).
    """
    check_alpha(alpha)
    reports = counts.sum(axis=1)
    _check_segments(reports)
    rng = _tables_of(counts)
    columns = counts.sum(axis=0)
    counts, columns = counts[:, columns > 0], columns[columns > 0]
    expected = reports[:, None] * (columns / columns.sum())
    observed = float((np.square(counts) / expected).sum())
    free = (len(reports) - 1) * (len(columns) - 1)
    if not free:
        return Homogeneity(1.0, alpha, "monte carlo")
    if expected.min() >= _LARGE:
        statistic = observed - float(columns.sum())
        return Homogeneity(float(chdtrc(free, statistic)), alpha, "chi-square")
    # What all tables are compared by must not differ by rounding.
    reached = drawn = 0
    bar = observed * (1 - 1e-12)
    # Once so many tables are as extreme, no further draw can make it significant.
    enough = ceil(alpha * (_TABLES + 1))
    while drawn < _TABLES and reached < enough:
        size = min(_BLOCK, _TABLES - drawn)
        reached += int((_draw_statistic(rng, reports, columns, expected, size) >= bar).sum())
        drawn += size
    return Homogeneity((1 + reached) / (1 + drawn), alpha, "monte carlo")


def same_bits(counts: Counts, reports: Counts, *, alpha: float) -> Homogeneity:
    """Test counts (segments, k) of bits set among `reports` (segments,), with equal p and q.

    Bits depend on each other through the population; Holm's bound, k times the least p-value,
    holds all the same. Raises as `same_answers`.
    """
    check_alpha(alpha)
    _check_segments(reports)
    total, n, k = counts.sum(axis=0), int(reports.sum()), counts.shape[1]
    rare = np.minimum(total, n - total)
    varied = rare > 0
    statistic = np.zeros(k)
    statistic[varied] = _bit_statistic(counts[:, varied], total[varied], reports)
    p_value = np.where(varied, chdtrc(len(reports) - 1, statistic), 1.0)
    rng = _tables_of(counts)
    finer = ceil(_RESOLUTION * k / alpha)
    # At alpha / k, fewer than 1 in 10,000 would show so many of the first tables as extreme.
    hopeless = max(4 * alpha / k, 10 / (1 + _TABLES)) if finer > _TABLES else 0.0
    for bits in np.unique(total[varied & (rare * (int(reports.min()) / n) < _LARGE)]):
        at = total == bits
        bar = statistic[at] * (1 - 1e-12)
        for draws in (_TABLES, finer):
            drawn = np.sort(_draw_bits(rng, int(bits), reports, draws))
            p_value[at] = (1 + draws - np.searchsorted(drawn, bar)) / (1 + draws)
            if p_value[at].min() > hopeless:
                break
    return Homogeneity(min(1.0, k * float(p_value.min())), alpha, "holm")


def same_shares(shares: Floats, covariances: Floats, *, alpha: float) -> Homogeneity:
    """Test shares (segments, k) with covariances (segments, k, k): Wald, for many reports.

    Take the covariances at shares that all segments have in common (`pooled_covariance`): at each
    segment's own, small ones alarm too often. Raises ValueError for fewer than two segments, an
    alpha outside (0, 1), and a segment that is certain of what others are not.
    """
    check_alpha(alpha)
    if len(shares) < 2:
        raise ValueError("segments: there are fewer than two; there is nothing to compare")
    scale, axes = np.linalg.eigh(covariances.sum(axis=0))
    axes = axes[:, scale > _CERTAIN * scale[-1]]
    if not axes.size:
        raise ValueError("covariances: all shares are certain; compare them without a test")
    inner = axes.T @ covariances @ axes
    try:
        factors = np.linalg.cholesky(inner)
    except np.linalg.LinAlgError as error:
        raise ValueError("covariances: a segment is certain of what others are not") from error
    inverse = np.linalg.inv(factors)
    precision = inverse.transpose(0, 2, 1) @ inverse
    projected = shares @ axes
    weighted = np.einsum("gij,gj->i", precision, projected)
    common = np.linalg.solve(precision.sum(axis=0), weighted)
    left = np.einsum("gij,gj->gi", inverse, projected - common)
    free = (len(shares) - 1) * axes.shape[1]
    return Homogeneity(float(chdtrc(free, np.square(left).sum())), alpha, "wald")


def pooled_covariance(shares: Floats, reports: Counts, laws: list[PairSupport]) -> Floats:
    """Return covariances (segments, k, k) of pure protocols' shares were all segments alike.

    `shares` (segments, k) are pooled by reports, brought to a distribution by Norm-Sub; `laws` one
    a segment. Devices count as drawn.
    """
    common = norm_sub(reports @ shares / reports.sum())
    both = common[:, None] + common[None, :]
    made = []
    for n, law in zip(reports.tolist(), laws, strict=True):
        p, q = float(law.p), float(law.q)
        own, other = float(law.p + law.q - law.own) / 2, float(2 * law.q - law.other) / 2
        rates = q + (p - q) * common
        joint = own * both + other * (1 - both)
        np.fill_diagonal(joint, rates)
        made.append((joint - np.outer(rates, rates)) / (n * (p - q) ** 2))
    return np.stack(made)


def _check_segments(reports: Counts) -> None:
    if len(reports) < 2:
        raise ValueError("segments: there are fewer than two; there is nothing to compare")
    if reports.min() < 1:
        raise ValueError("segments: one has no report; leave it out and say so")


def _tables_of(counts: Counts) -> np.random.Generator:
    """Return what draws the tables for a question: the same question has the same answer.

    Were the tables the same for all questions, so would be the error of their quantile.
    """
    return np.random.default_rng(counts.ravel())


def _draw_statistic(
    rng: np.random.Generator, rows: Counts, columns: Counts, expected: Floats, size: int
) -> Floats:
    """Return sum O^2 / E of `size` tables with these margins, each as likely as chance makes it."""
    statistic = np.zeros(size)
    left = np.broadcast_to(columns, (size, len(columns))).copy()
    for row, wanted in zip(rows[:-1], expected[:-1], strict=True):
        rest, wanting = left.sum(axis=1), np.full(size, row)
        for column in range(len(columns)):
            rest = rest - left[:, column]
            drawn = rng.hypergeometric(left[:, column], rest, wanting)
            left[:, column] -= drawn
            wanting = wanting - drawn
            statistic += np.square(drawn) / wanted[column]
    statistic += (np.square(left) / expected[-1]).sum(axis=1)
    return statistic


def _bit_statistic(counts: NDArray[np.int64], total: Counts, reports: Counts) -> Floats:
    """Return Pearson's statistic of each column of (segments, bits) against its total (bits,)."""
    rate = total / reports.sum()
    expected = reports[:, None] * rate
    return np.asarray((np.square(counts - expected) / expected).sum(axis=0) / (1 - rate))


def _draw_bits(rng: np.random.Generator, total: int, reports: Counts, draws: int) -> Floats:
    counts = np.empty((len(reports), draws), dtype=np.int64)
    left, rest = np.full(draws, total), int(reports.sum())
    for segment, n in enumerate(reports.tolist()):
        counts[segment] = rng.hypergeometric(n, rest - n, left)
        left, rest = left - counts[segment], rest - n
    return _bit_statistic(counts, np.full(draws, total), reports)
