"""Tails of the binomial law, exact far out too, from the incomplete beta function.

`scipy.stats` has them as well, and takes a second to import.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc


def at_most(k: ArrayLike, n: ArrayLike, p: float) -> NDArray[np.float64]:
    """Return P[X <= k] of X ~ Bin(n, p), element by element; k may lie outside of 0 to n."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    inside = np.clip(k, 0, np.maximum(n - 1, 0))
    tail = betainc(np.maximum(n - inside, 1), inside + 1, 1 - p)
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, tail))


def above(k: ArrayLike, n: ArrayLike, p: float) -> NDArray[np.float64]:
    """Return P[X > k] of X ~ Bin(n, p), element by element; k may lie outside of 0 to n."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    inside = np.clip(k, 0, np.maximum(n - 1, 0))
    tail = betainc(inside + 1, np.maximum(n - inside, 1), p)
    return np.where(k < 0, 1.0, np.where(k >= n, 0.0, tail))
