"""Candidates that own the same cells in every cohort: to the decoder they are one.

A value listed twice, or two values whose hashes meet everywhere in a small sketch. No number of
reports tells such candidates apart, so one of them is decoded, and each is given its answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.decoding.candidates import Positions, blocks
from rumor_server.statistics.decoding.sketch import Integers, Sketch

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
