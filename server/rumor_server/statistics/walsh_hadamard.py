"""The Walsh-Hadamard transform of integers, exactly, by butterflies: O(K log K)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def walsh_hadamard(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the transform along the last axis, whose length K is a power of two.

    Entry r is sum_y (-1)^popcount(r & y) table[..., y] (Sylvester's order). It is a new array.
    Transforming twice multiplies by K.
    """
    size = table.shape[-1]
    if size < 1 or size & (size - 1):
        raise ValueError(f"a Hadamard matrix of this order has a power of two rows, not {size}")
    result = table.astype(np.int64, copy=True, order="C")
    half = 1
    while half < size:
        pairs = result.reshape(*table.shape[:-1], size // (2 * half), 2, half)
        first = pairs[..., 0, :].copy()
        pairs[..., 0, :] += pairs[..., 1, :]
        np.subtract(first, pairs[..., 1, :], out=pairs[..., 1, :])
        half *= 2
    return result
