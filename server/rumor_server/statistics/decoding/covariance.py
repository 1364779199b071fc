"""How the cells of a cohort vary together, and the weights that follow.

With reports of a random subsample in each cohort, the debiased cells of cohort j have the
covariance of n_j independent draws: r(1-r)/(p1-p0)^2 on the diagonal, and between two cells the
multinomial sampling that values share, P[owns both] - P[owns one] P[owns other]. Generalised least
squares with these weights is unbiased for the population's shares. The population being fixed, its
variance is that of independent draws less (diag f - f f')/n: cohorts deal the same people out
without replacement, which takes a quadratic form in the design's own columns off the covariance,
and such a form leaves the best weights as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor_server.statistics.decoding.candidates import Block
from rumor_server.statistics.decoding.sketch import Floats, Sketch

NOISE_FLOOR = 1e-9
"""Variance a report adds to a cell at least: keeps noiseless sketches (p1 = 1, p0 = 0) solvable."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Inverse covariance of the centred cells, for each cohort.

    `table` is (cohorts, cells) where cells are weighted one by one, else (cohorts, cells, cells). A
    cohort with no reports weighs nothing.
    """

    table: Floats

    @property
    def full(self) -> bool:
        """Whether cells of a cohort are weighted jointly."""
        return self.table.ndim == 3

    def times(self, cells: Floats) -> Floats:
        """Weights times a (cohorts, cells) table."""
        if not self.full:
            return np.asarray(self.table * cells, dtype=np.float64)
        return np.asarray(np.matmul(self.table, cells[:, :, None])[:, :, 0], dtype=np.float64)

    def whiten(self, first: int, last: int, columns: Floats) -> Floats:
        """R times columns (cells of cohorts first..last-1, columns), where R'R are the weights."""
        if not self.full:
            return np.asarray(np.sqrt(self.table[first:last]).reshape(-1, 1) * columns)
        whitened = np.zeros_like(columns)
        cells = self.table.shape[1]
        for place, table in enumerate(self.table[first:last]):
            if table[0, 0] > 0:
                rows = slice(place * cells, (place + 1) * cells)
                whitened[rows] = np.linalg.cholesky(table).T @ columns[rows]
        return whitened


def listed_shares(shares: Floats) -> Floats:
    """Shares as a population's: none negative, and no more than 1 in all."""
    positive = np.maximum(shares, 0.0)
    return np.asarray(positive / max(1.0, float(positive.sum())), dtype=np.float64)


def weigh_cells(sketch: Sketch, set_rate: Floats | None) -> Weights:
    """Weights of cells one by one, where a share `set_rate` (cohorts, cells) of reports owns each.

    Without rates all mass counts as unlisted, and every cell has the same. For categories these are
    the generalised inverse of the multinomial covariance, since a report's cells add up to one.
    """
    n = sketch.n[:, None].astype(np.float64)
    inverse_n = np.divide(1.0, n, out=np.zeros_like(n), where=n > 0)
    owned = np.full(sketch.counts.shape, sketch.chance) if set_rate is None else set_rate
    gain = sketch.p1 - sketch.p0
    rate = sketch.p0 + gain * owned
    if sketch.law == "categories":
        return Weights(inverse_n * gain**2 / np.maximum(rate, NOISE_FLOOR))
    return Weights(inverse_n / _alone(sketch, owned))


def weigh(sketch: Sketch, survivors: Block | None = None, shares: Floats | None = None) -> Weights:
    """Weights at the rates that `shares` (survivors,) of the surviving candidates predict.

    Without shares all mass counts as unlisted, and every cell has the same rate. Rates are always
    fitted, never the raw counts: weights that follow a cell's own noise bias the estimate.
    """
    cohorts, cells = sketch.counts.shape
    set_rate = np.full(sketch.counts.shape, sketch.chance)
    listed, present = np.zeros(0), None
    if survivors is not None and shares is not None:
        kept = np.flatnonzero(shares > 0)
        listed = listed_shares(shares)[kept]
        present = survivors.take(kept)
        owned_mass = present.spread(listed, sketch.counts.size).reshape(cohorts, cells)
        set_rate = owned_mass + (1 - listed.sum()) * sketch.chance
    if not sketch.jointly:
        return weigh_cells(sketch, set_rate)
    alone = _alone(sketch, set_rate)
    table = np.zeros((cohorts, cells, cells))
    for cohort in np.flatnonzero(sketch.n):
        both = np.full((cells, cells), (1 - float(listed.sum())) * sketch.chance_of_pair)
        if present is not None:
            owned = present.owned(int(cohort), int(cohort) + 1, cells)
            both += (owned * listed) @ owned.T
        covariance = both - np.outer(set_rate[cohort], set_rate[cohort])
        np.fill_diagonal(covariance, alone[cohort])
        inverse = np.linalg.inv(covariance)
        table[cohort] = (inverse + inverse.T) / (2 * float(sketch.n[cohort]))
    return Weights(table)


def _alone(sketch: Sketch, set_rate: Floats) -> Floats:
    """Variance of a debiased cell, for each report."""
    gain = sketch.p1 - sketch.p0
    rate = sketch.p0 + gain * set_rate
    return np.asarray(rate * (1 - rate) / gain**2 + NOISE_FLOOR, dtype=np.float64)
