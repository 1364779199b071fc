"""How values share cells, in all cohorts: the sums over a hash table that a regression needs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs, helmert

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
# In single precision or in double.
Matrix = NDArray[np.float32 | np.float64]
Precision = type[np.float32] | type[np.float64]

# Entries of one pass over a table: some arrays of 256 KiB stay in the cache (measured).
_GATHERED = 1 << 15
# Float32 entries of one block of columns: 4 MiB are enough for a fast product (measured).
_COLUMN_ENTRIES = 1 << 20
# Entries of the tables in which pairs of values are looked for at once.
_SORTED = 1 << 18
# Up to here a product of columns is faster than going through pairs (measured at 1024 values).
_DENSE_CELLS = 24


def sums(table: Floats, owned: NDArray[np.integer]) -> Floats:
    """Return (values,): for each value the sum of `table` (cohorts, cells) over the cells it owns.

    `owned` (cohorts, values) is the cell of each value in each cohort.
    """
    k = owned.shape[1]
    total = np.zeros(k)
    gathered = np.empty((min(len(owned), max(1, _GATHERED // k)), k))
    for part, flat in _blocks(owned, table.shape[1], len(gathered)):
        rows = gathered[: len(flat)]
        # No cell is out of bounds; the default mode would not write in place.
        np.take(table[part].ravel(), flat, out=rows, mode="clip")
        total += rows.sum(axis=0)
    return total


def information(
    weights: Floats,
    owned: NDArray[np.integer],
    precision: Precision = np.float32,
) -> Matrix:
    """Return X'WX, (values, values), in its lower triangle and diagonal.

    A value's column of X is 1 where it owns a cell less 1 / cells everywhere, so that each cohort
    sums to 0. `weights` (cohorts, cells) are positive. Exact to 1e-6 of the diagonal
    in single precision.
    """
    if weights.shape[1] <= _DENSE_CELLS:
        return _by_columns(weights, owned, precision)
    return _by_pairs(weights, owned, precision)


def add_squares(matrix: Matrix, table: Floats, owned: NDArray[np.integer]) -> None:
    """Add to X'WX the sum over cohorts of (X't)(X't)', in its lower triangle and diagonal.

    `table` (cohorts, cells) holds each cohort's t.
    """
    k, cells = owned.shape[1], table.shape[1]
    step = min(len(owned), max(1, _COLUMN_ENTRIES // k))
    for part, flat in _blocks(owned, cells, step):
        rows = table[part]
        centred = rows.ravel()[flat] - rows.sum(axis=1, keepdims=True) / cells
        _add_products(matrix, centred)


def _add_products(matrix: Matrix, rows: Matrix) -> None:
    """Add rows' rows to the lower triangle of a matrix in Fortran's order."""
    syrk = get_blas_funcs("syrk", (matrix,))
    added = syrk(1.0, rows.T, 1.0, matrix, lower=1, overwrite_c=1)
    if added is not matrix:
        matrix[...] = added


def _blocks(
    owned: NDArray[np.integer], cells: int, step: int
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Yield cohorts, and where every value's cells are in the flat table of these cohorts.

    The next block is written over the one before: fresh memory costs more than what fills it.
    """
    cohorts, k = owned.shape
    offsets = np.arange(step, dtype=np.int64)[:, None] * cells
    flat = np.empty((step, k), dtype=np.int64)
    for start in range(0, cohorts, step):
        part = slice(start, min(start + step, cohorts))
        rows = part.stop - start
        yield part, np.add(owned[part], offsets[:rows], out=flat[:rows])


def _by_columns(weights: Floats, owned: NDArray[np.integer], precision: Precision) -> Matrix:
    """Multiply columns of one row less than there are cells: a cohort's own is redundant.

    With Q an orthonormal basis of what sums to 0, X'WX of a cohort is X'Q (Q'WQ) Q'X, and Q'X has
    the same columns as Q' of the ownership alone.
    """
    (cohorts, k), cells = owned.shape, weights.shape[1]
    basis = helmert(cells)
    inner = np.einsum("ra,ca,sa->crs", basis, weights, basis, optimize=True)
    # (cohorts, cells - 1, cells): what owning a cell adds to each row of the columns.
    rows = (np.linalg.cholesky(inner).transpose(0, 2, 1) @ basis).astype(precision)
    total = np.zeros((k, k), dtype=precision, order="F")
    step = min(cohorts, max(1, _COLUMN_ENTRIES // (k * (cells - 1))))
    columns = np.empty(((cells - 1) * step, k), dtype=precision)
    for part, flat in _blocks(owned, cells, step):
        block = columns[: (cells - 1) * len(flat)]
        for row, added in enumerate(block.reshape(cells - 1, len(flat), k)):
            np.take(rows[part, row].ravel(), flat, out=added, mode="clip")
        _add_products(total, block)
    return total


def _by_pairs(weights: Floats, owned: NDArray[np.integer], precision: Precision) -> Matrix:
    """Add up the weights of the cells that two values share, few where there are many cells."""
    (cohorts, k), cells = owned.shape, weights.shape[1]
    total = np.zeros((k, k), dtype=precision, order="F")
    entries = total.ravel(order="K")
    step = min(cohorts, max(1, _SORTED // k))
    for part, flat in _blocks(owned, cells, step):
        # Stable, so that of two values in a cell the later one is the row of the lower triangle.
        value = np.argsort(owned[part], axis=1, kind="stable")
        cell = np.take_along_axis(flat, value, axis=1).ravel()
        value = value.ravel()
        weight = weights[part].ravel()[cell].astype(precision)
        # Whatever shares a cell with the one `apart` places on does so with all between.
        at, apart = np.arange(cell.size), 1
        while at.size:
            at = at[: np.searchsorted(at, cell.size - apart)]
            at = at[cell[at] == cell[at + apart]]
            np.add.at(entries, value[at] * k + value[at + apart], weight[at])
            apart += 1
    alone = sums(weights, owned)
    np.fill_diagonal(total, alone)
    common = (alone / cells - weights.sum() / cells**2 / 2).astype(precision)
    total -= common[:, None]
    total -= common
    return total
