"""Candidates as sparse columns: sums over the cells they own, streamed in blocks.

A candidate's column of the design is `n_j (owns(v, j, cell) - chance)`. It is never written out for
all candidates: everything the decoder needs of a candidate that the screen drops is a sum of a few
table entries.

Candidates that own the same cells in every cohort: to the decoder they are one.

A value listed twice, or two values whose hashes meet everywhere in a small sketch. No number of
reports tells such candidates apart, so one of them is decoded, and each is given its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rumor_server.statistics.decoding.sketch import Bools, Floats, Integers, Sketch, SketchError

SEED = 20141103
"""Any seed does: two of 10^6 different candidates get one 64-bit mark with probability 3e-8."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """Candidates, one of each set that is indistinguishable.

    `first` (distinct,) are the indices of those decoded, ascending; `place` (candidates,) says
    which of them stands for each candidate.
    """

    first: Integers
    place: Integers

    def positions(self, given: Positions) -> Positions:
        """Cells of the distinct candidates, read from those of all."""
        if len(self.first) == len(self.place):
            return given

        def chosen(start: int, stop: int) -> NDArray[np.integer]:
            low = int(self.first[start])
            return given(low, int(self.first[stop - 1]) + 1)[self.first[start:stop] - low]

        return chosen


def find_indistinguishable(sketch: Sketch, positions: Positions, candidates: int) -> Distinct:
    """Compare candidates by the sum, modulo 2^64, of random marks of the cells they own."""
    cell_marks = np.random.default_rng(SEED).integers(
        0, 2**64, size=sketch.counts.size, dtype=np.uint64
    )
    marks = np.empty(candidates, dtype=np.uint64)
    for start, block in blocks(positions, candidates, sketch):
        owned = cell_marks[block.flat] * block.fresh
        marks[start : start + len(block)] = owned.sum(axis=(1, 2), dtype=np.uint64)
    _, first, place = np.unique(marks, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Distinct(first[order].astype(np.int64), rank[place.ravel()].astype(np.int64))


Positions = Callable[[int, int], NDArray[np.integer]]
"""`positions(start, stop)`: cells owned by these candidates, (stop - start, cohorts, hashes)."""

BLOCK_ENTRIES = 1 << 21
"""Table entries gathered at once: 16 MB an array, which stays near the processor's cache."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some candidates' cells: flat indices cohort * cells + cell, and which are not repeats."""

    flat: Integers
    fresh: Bools

    @classmethod
    def of(cls, positions: NDArray[np.integer], sketch: Sketch) -> Block:
        """Check positions (candidates, cohorts, hashes) and mark a cell's second mention."""
        wanted = (len(sketch.n), sketch.hashes)
        if positions.ndim != 3 or positions.shape[1:] != wanted:
            raise SketchError(
                "positions", f"needs the shape (candidates, {wanted[0]}, {wanted[1]})"
            )
        if positions.size and not 0 <= positions.min() <= positions.max() < sketch.cells:
            raise SketchError("positions", f"every cell must lie in 0..{sketch.cells - 1}")
        fresh = np.ones(positions.shape, dtype=np.bool_)
        for late in range(1, sketch.hashes):
            for early in range(late):
                fresh[..., late] &= positions[..., late] != positions[..., early]
        offsets = np.arange(len(sketch.n), dtype=np.int64)[:, None] * sketch.cells
        return cls(positions.astype(np.int64) + offsets, fresh)

    def __len__(self) -> int:
        return len(self.flat)

    def take(self, rows: Integers | Bools) -> Block:
        """The candidates of these rows alone."""
        return Block(self.flat[rows], self.fresh[rows])

    @classmethod
    def join(cls, blocks: list[Block]) -> Block:
        """Several blocks as one, in their order."""
        return cls(
            np.concatenate([block.flat for block in blocks]),
            np.concatenate([block.fresh for block in blocks]),
        )

    def sums(self, table: Floats) -> Floats:
        """Sum of a (cohorts, cells) table over the cells each candidate owns, (candidates,)."""
        values = table.ravel()[self.flat]
        values *= self.fresh
        return np.asarray(values.sum(axis=(1, 2)), dtype=np.float64)

    def pair_sums(self, table: Floats) -> Floats:
        """Sum of a (cohorts, cells, cells) table over all pairs of cells a candidate owns."""
        cells = table.shape[-1]
        values = table.ravel()
        total = np.zeros(len(self))
        for one in range(self.flat.shape[2]):
            for two in range(self.flat.shape[2]):
                entries = values[self.flat[..., one] * cells + self.flat[..., two] % cells]
                entries *= self.fresh[..., one] & self.fresh[..., two]
                total += entries.sum(axis=1)
        return total

    def owned(self, first: int, last: int, cells: int) -> Floats:
        """Which cells of cohorts first..last-1 each candidate owns, 0 or 1: (cells, candidates)."""
        owned = np.zeros(((last - first) * cells, len(self)))
        rows = self.flat[:, first:last, :] - first * cells
        owned[rows, np.arange(len(self))[:, None, None]] = 1.0
        return owned

    def spread(self, shares: Floats, size: int) -> Floats:
        """For every cell the sum of the shares of the candidates that own it, (size,)."""
        mass = shares[:, None, None] * self.fresh
        spread = np.bincount(self.flat.ravel(), mass.ravel(), minlength=size)
        return np.asarray(spread, dtype=np.float64)


def blocks(positions: Positions, candidates: int, sketch: Sketch) -> Iterator[tuple[int, Block]]:
    """Walk all candidates in blocks of bounded size; yields each block with its first index."""
    step = max(1, BLOCK_ENTRIES // (len(sketch.n) * sketch.hashes))
    for start in range(0, candidates, step):
        stop = min(candidates, start + step)
        given = np.asarray(positions(start, stop))
        if len(given) != stop - start:
            raise SketchError("positions", "must return as many candidates as it was asked for")
        yield start, Block.of(given, sketch)


def ownership(positions: Positions, candidates: int, sketch: Sketch) -> csr_array:
    """Which of all cells each candidate owns, sparse: (candidates, cohorts * cells) of 0 and 1."""
    each = len(sketch.n) * sketch.hashes
    index = np.empty((candidates, each), dtype=np.int32)
    owns = np.empty((candidates, each))
    for start, block in blocks(positions, candidates, sketch):
        rows = slice(start, start + len(block))
        index[rows] = block.flat.reshape(len(block), each)
        owns[rows] = block.fresh.reshape(len(block), each)
    ends = np.arange(0, candidates * each + 1, each, dtype=np.int32)
    shape = (candidates, sketch.counts.size)
    return csr_array((owns.ravel(), index.ravel(), ends), shape=shape)
