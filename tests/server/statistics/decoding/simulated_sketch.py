"""Populations made into tallies cell by cell, by a route that shares nothing with the decoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.decoding import Correction, DecodedSketch, decode_sketch

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Simulated:
    """A tally, what made it, and the truth: shares (candidates,) among those who reported."""

    counts: Integers
    n: Integers
    p1: float
    p0: float
    positions: Integers
    truth: Floats

    def decode(self, correction: Correction = "fdr", swap: bool = False) -> DecodedSketch:
        """Decode as RAPPOR's; `swap` plants the fault of p1 and p0 that belong to other rates."""
        p1, p0 = (1 - self.p0, 1 - self.p1) if swap else (self.p1, self.p0)
        decoded = decode_sketch(
            self.counts,
            self.n,
            p1,
            p0,
            lambda start, stop: self.positions[start:stop],
            len(self.positions),
            hashes=self.positions.shape[2],
            correction=correction,
        )
        assert decoded is not None
        return decoded


def rappor_rates(p: float, q: float, f: float) -> tuple[float, float]:
    """q* and p*: a bit's rate where the filter has it set, and where not (formulas 2.1)."""
    return f / 2 * (p + q) + (1 - f) * q, f / 2 * (p + q) + (1 - f) * p


def exponential(present: int, candidates: int, decay: float = 0.05) -> Floats:
    """Shares that fall by `decay` a rank; the last candidates are absent."""
    shares = np.zeros(candidates)
    shares[:present] = np.exp(-decay * np.arange(present))
    return np.asarray(shares / shares.sum())


def deal(
    people: Integers, positions: Integers, cells: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Put people into cohorts at random: how many own each cell, and reports, of each cohort."""
    cohorts, hashes = positions.shape[1:]
    dealt = rng.multinomial(people, np.full(cohorts, 1 / cohorts))
    owners = np.zeros((cohorts, cells), dtype=np.int64)
    for hit in range(hashes):
        before = positions[:, :, :hit] == positions[:, :, hit : hit + 1]
        np.add.at(
            owners,
            (np.arange(cohorts)[None, :], positions[:, :, hit]),
            dealt * ~before.any(axis=2),
        )
    return owners, dealt.sum(axis=0)


def simulate_bits(
    seed: int,
    reports: int,
    shares: Floats,
    cohorts: int = 16,
    cells: int = 128,
    hashes: int = 2,
    rates: tuple[float, float] = rappor_rates(0.5, 0.75, 0.5),
) -> Simulated:
    """Draw a population, its cohorts, and every bit of every report."""
    rng = np.random.default_rng(seed)
    positions = rng.integers(0, cells, (len(shares), cohorts, hashes))
    people = rng.multinomial(reports, shares).astype(np.int64)
    owners, n = deal(people, positions, cells, rng)
    p1, p0 = rates
    counts = rng.binomial(owners, p1) + rng.binomial(n[:, None] - owners, p0)
    return Simulated(counts, n, p1, p0, positions, people / reports)
