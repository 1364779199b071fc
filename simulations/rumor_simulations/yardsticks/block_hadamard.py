"""Hadamard response in blocks, as published (Acharya, Sun, Zhang 2019), for comparison alone.

At a high epsilon its authors split the K columns into B = 2^floor(log2 e^eps) blocks of b each: a
value has a half of its own block, and all else is the other side. It is not offered: a value that
shares its block with a common one is much noisier, at epsilon 5 up to 75 times.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, floor, log2

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.transforms import walsh_hadamard

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class BlockHadamard:
    """`blocks` of `width` columns; `ratio` is e^epsilon."""

    k: int
    ratio: float
    blocks: int
    width: int

    @classmethod
    def of(cls, k: int, epsilon: float) -> BlockHadamard:
        """Return the parameters that its authors take."""
        blocks = 2 ** floor(log2(exp(epsilon)))
        return cls(k, exp(epsilon), blocks, 2 ** ceil(log2(k / blocks + 1)))

    @property
    def places(self) -> tuple[Counts, Counts]:
        """Return the block and the row of each value; row 0 of a block has no other half."""
        value = np.arange(self.k)
        return value // (self.width - 1), value % (self.width - 1) + 1

    def draw(self, held: Counts, rng: np.random.Generator) -> Counts:
        """Return int64 (blocks, width): how often each column came, of a value each device."""
        value = np.repeat(np.arange(self.k), held)
        block, row = (place[value] for place in self.places)
        own = self.ratio * self.width / 2
        chance = own / (own + self.blocks * self.width - self.width / 2)
        true = rng.random(len(value)) < chance
        column = rng.integers(self.width, size=len(value))
        # Toggling a bit of the row maps either half one to one onto the other.
        column ^= np.where(np.bitwise_count(row & column) % 2, row & -row, 0)
        # Outside: the other half of the block, or any column of another block.
        outside = rng.integers(2 * self.blocks - 1, size=len(value))
        elsewhere = ~true & (outside > 0)
        other = (outside - 1) // 2
        other += other >= block
        column = np.where(~true & (outside == 0), column ^ (row & -row), column)
        column = np.where(elsewhere, rng.integers(self.width, size=len(value)), column)
        places = np.where(elsewhere, other, block) * self.width + column
        counts = np.bincount(places, minlength=self.blocks * self.width)
        return counts.reshape(self.blocks, self.width)

    def estimate(self, counts: Counts) -> NDArray[np.float64]:
        """Return the estimated number of devices with each value."""
        block, row = self.places
        scale = (2 * self.blocks - 1 + self.ratio) / (self.ratio - 1)
        return np.asarray(walsh_hadamard(counts)[block, row] * scale, dtype=np.float64)

    def mean_variance(self, held: Counts) -> float:
        """Return the exact variance of a count's estimate, averaged over all values."""
        n, e, b = held.sum(), self.ratio, self.blocks
        block, _ = self.places
        beside = np.bincount(block, held, minlength=b)[block]
        own = (2 * b - 1 + e) * (e + 1) / (e - 1) ** 2
        away = 2 * (2 * b - 1 + e) / (e - 1) ** 2
        return float((beside * own + (n - beside) * away - held).mean())
