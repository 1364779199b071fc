"""The draws that populations share: uniform counts, devices over cohorts, numbers on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rumor_shared.epsilon import ln_bounds

Counts = NDArray[np.int64]

# Devices, or cells of a table, that are held at a time: some tens of MiB.
BLOCK = 1 << 20


def log_ratio(ratio: Fraction) -> float:
    """Return ln(ratio), rounded once from an exact ratio."""
    return float(ln_bounds(ratio)[0])


def scored(weight: float, marks: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return `weight` where marked and 0 elsewhere."""
    scores: NDArray[np.float64] = weight * marks.astype(np.float64)
    return scores


def parity(numbers: Counts) -> Counts:
    """Return 1 where a number has an odd count of ones, else 0."""
    odd: Counts = np.bitwise_count(numbers).astype(np.int64) & 1
    return odd


def uniform_counts(n: int, cells: int, rng: np.random.Generator) -> Counts:
    """Return int64 (cells,): where n independent uniform choices fall."""
    counts = np.zeros(cells, dtype=np.int64)
    for start in range(0, n, BLOCK):
        counts += np.bincount(rng.integers(cells, size=min(BLOCK, n - start)), minlength=cells)
    return counts


def one_by_one(counts: Counts) -> Iterator[Counts]:
    """Yield the index of every device's value, in blocks: index i comes `counts[i]` times."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, BLOCK):
        places = np.arange(start, min(start + BLOCK, total))
        yield np.searchsorted(ends, places, side="right").astype(np.int64)


def scatter(
    counts: Counts, cohorts: int, rng: np.random.Generator
) -> Iterator[tuple[Counts, Counts, Counts]]:
    """Spread each value's devices uniformly over cohorts; yield (value, cohort, devices) in blocks.

    A pair may come more than once. Values with more devices than cohorts are spread by a
    multinomial, the others device by device: the same law, at the smaller cost.
    """
    many = np.flatnonzero(counts > cohorts)
    rows = max(1, BLOCK // cohorts)
    for start in range(0, len(many), rows):
        values = many[start : start + rows]
        # 1 / cohorts has no rounding where cohorts is a power of two, as it is here.
        table = rng.multinomial(counts[values], np.full(cohorts, 1 / cohorts))
        cohort = np.tile(np.arange(cohorts, dtype=np.int64), len(values))
        yield np.repeat(values, cohorts), cohort, table.ravel()
    for value in one_by_one(np.where(counts > cohorts, 0, counts)):
        yield value, rng.integers(cohorts, size=len(value)), np.ones(len(value), dtype=np.int64)


def add_at(cells: Counts, places: Counts, weights: Counts) -> None:
    """Add `weights` to `cells` at `places`, which may repeat. Sums stay exact below 2**53."""
    added = np.bincount(places.ravel(), weights.ravel(), minlength=len(cells))
    cells += added.astype(np.int64)


def integers(payloads: NDArray[np.uint8]) -> Counts:
    """Return the little-endian integer of each payload, at most seven bytes long."""
    places = np.int64(256) ** np.arange(payloads.shape[1], dtype=np.int64)
    numbers: Counts = payloads.astype(np.int64) @ places
    return numbers


def bit_matrix(payloads: NDArray[np.uint8], bits: int) -> NDArray[np.bool_]:
    """Return bool (reports, bits): the bits of each payload, the least significant one first."""
    return np.unpackbits(payloads, axis=1, count=bits, bitorder="little").view(np.bool_)
