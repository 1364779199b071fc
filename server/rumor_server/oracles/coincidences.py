"""How values share cells, in all cohorts: the sums over a hash table that a regression needs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.linalg.blas import ssyrk
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Cohorts of one pass over a table: more leave the processor's cache (measured at 1024 values).
_GATHERED = 64
# Entries of one block of columns: 32 MiB of float32 for a fast product; sparse ones need fewer.
_DENSE_ENTRIES = 1 << 23
_SPARSE_COHORTS = 256
# Up to here a dense product of columns is faster than a sparse one (measured at 1024 values).
_DENSE_CELLS = 24


def sums(table: Floats, owned: NDArray[np.integer]) -> Floats:
    """Return (values,): for each value the sum of `table` (cohorts, cells) over the cells it owns.

    `owned` (cohorts, values) is the cell of each value in each cohort.
    """
    total = np.zeros(owned.shape[1])
    for part, flat in _blocks(owned, table.shape[1], _GATHERED):
        total += np.take(table[part].ravel(), flat).sum(axis=0)
    return total


def information(weights: Floats, owned: NDArray[np.integer]) -> Singles:
    """Return X'WX, (values, values), in its lower triangle and diagonal.

    A value's column of X is 1 where it owns a cell less 1 / cells everywhere, so that each cohort
    sums to 0. `weights` (cohorts, cells) are positive. Exact to 1e-6 of the diagonal.
    """
    if weights.shape[1] <= _DENSE_CELLS:
        return _dense(weights, owned)
    return _sparse(weights, owned)


def _blocks(
    owned: NDArray[np.integer], cells: int, step: int
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Yield cohorts, and where every value's cells are in the flat table of these cohorts."""
    offsets = np.arange(step, dtype=np.int64)[:, None] * cells
    for start in range(0, len(owned), step):
        part = owned[start : start + step]
        yield slice(start, start + step), part + offsets[: len(part)]


def _dense(weights: Floats, owned: NDArray[np.integer]) -> Singles:
    """Multiply columns of one row less than there are cells: a cohort's own is redundant.

    With Q an orthonormal basis of what sums to 0, X'WX of a cohort is X'Q (Q'WQ) Q'X, and Q'X has
    the same columns as Q' of the ownership alone.
    """
    (cohorts, k), cells = owned.shape, weights.shape[1]
    basis = helmert(cells)
    inner = np.einsum("ra,ca,sa->crs", basis, weights, basis, optimize=True)
    # (cohorts, cells - 1, cells): what owning a cell adds to each row of the columns.
    rows = (np.linalg.cholesky(inner).transpose(0, 2, 1) @ basis).astype(np.float32)
    total = np.zeros((k, k), dtype=np.float32, order="F")
    step = max(1, _DENSE_ENTRIES // (k * (cells - 1)))
    for part, flat in _blocks(owned, cells, min(step, cohorts)):
        columns = np.empty((len(flat), cells - 1, k), dtype=np.float32)
        for row in range(cells - 1):
            columns[:, row] = np.take(rows[part, row].ravel(), flat)
        total = ssyrk(1.0, columns.reshape(-1, k).T, 1.0, total, lower=1, overwrite_c=1)
    return total


def _sparse(weights: Floats, owned: NDArray[np.integer]) -> Singles:
    k, cells = owned.shape[1], weights.shape[1]
    total = np.zeros((k, k))
    for part, flat in _blocks(owned, cells, _SPARSE_COHORTS):
        own = np.ascontiguousarray(flat.T)
        roots = np.sqrt(weights[part]).ravel().astype(np.float32)
        ends = np.arange(0, own.size + 1, own.shape[1])
        columns = csr_array((roots[own].ravel(), own.ravel(), ends), shape=(k, len(roots)))
        total += (columns @ columns.T.tocsr()).toarray()
    alone = sums(weights, owned)
    np.fill_diagonal(total, alone)
    total -= (alone[:, None] + alone) / cells
    total += weights.sum() / cells**2
    return total.astype(np.float32)
