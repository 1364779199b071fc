"""The weighted normal equations of the survivors, and scores of everybody else.

Written with columns x_v = n_j (owns(v, j, cell) - chance): `gram` = X'WX, `score` = X'W(cells).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor_server.statistics.decoding.candidates import Block
from rumor_server.statistics.decoding.covariance import Weights
from rumor_server.statistics.decoding.sketch import Floats, Sketch

STACKED_ROWS = 2048
"""Rows of whitened cells multiplied at once: enough for a fast product, small enough for memory."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores candidates against a table of cells: x'W(cells) and x'Wx, by table look-ups alone."""

    linear: Floats
    linear_shift: float
    cross: Floats
    squares: Floats
    square_shift: float
    chance: float

    @classmethod
    def of(cls, sketch: Sketch, weights: Weights, cells: Floats) -> Scorer:
        """Prepare the tables for one table of cells (cohorts, cells)."""
        n = sketch.n.astype(np.float64)
        linear = weights.times(cells) * n[:, None]
        cross = weights.times(np.ones_like(cells)) * n[:, None] ** 2
        square = n.reshape((-1,) + (1,) * (weights.table.ndim - 1)) ** 2 * weights.table
        chance = sketch.chance
        return cls(
            linear,
            chance * float(linear.sum()),
            cross,
            square,
            chance**2 * float(cross.sum()),
            chance,
        )

    def score(self, block: Block) -> Floats:
        """x'W(cells) of each candidate of the block."""
        return block.sums(self.linear) - self.linear_shift

    def information(self, block: Block) -> Floats:
        """x'Wx of each candidate of the block: the inverse variance it would have alone."""
        if self.squares.ndim == 2:
            own = block.sums(self.squares * (1 - 2 * self.chance))
        else:
            own = block.pair_sums(self.squares) - 2 * self.chance * block.sums(self.cross)
        return np.maximum(own + self.square_shift, 0.0)


@dataclass(frozen=True, slots=True)
class Equations:
    """X'WX and X'Wy of some candidates, y'Wy of the centred cells y, and their number."""

    gram: Floats
    score: Floats
    square: float
    freedom: int

    @classmethod
    def of(cls, sketch: Sketch, weights: Weights, block: Block) -> Equations:
        """Set up the equations of a block of candidates with these weights."""
        cells = sketch.centred()
        score = Scorer.of(sketch, weights, cells).score(block)
        square = float((cells * weights.times(cells)).sum())
        return cls(_gram(sketch, weights, block), score, square, sketch.freedom)


def predicted(sketch: Sketch, block: Block, shares: Floats) -> Floats:
    """X times shares: the centred cells (cohorts, cells) that these shares predict."""
    kept = np.flatnonzero(shares)
    owned = block.take(kept).spread(shares[kept], sketch.counts.size)
    owned = owned.reshape(sketch.counts.shape) - sketch.chance * float(shares.sum())
    return np.asarray(owned * sketch.n[:, None], dtype=np.float64)


def _gram(sketch: Sketch, weights: Weights, block: Block) -> Floats:
    total = np.zeros((len(block), len(block)))
    together = max(1, STACKED_ROWS // sketch.cells)
    for first in range(0, len(sketch.n), together):
        last = min(len(sketch.n), first + together)
        columns = block.owned(first, last, sketch.cells) - sketch.chance
        whitened = weights.whiten(first, last, columns)
        whitened *= np.repeat(sketch.n[first:last], sketch.cells)[:, None]
        total += whitened.T @ whitened
    return total
