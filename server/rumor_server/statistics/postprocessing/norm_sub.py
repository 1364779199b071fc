"""Norm-Sub: the nearest distribution to the raw shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def norm_sub(frequency: Floats) -> Floats:
    """Return the shares >= 0 with sum 1 nearest to the raw ones in squared distance.

    They are max(x - t, 0) with the t that makes the sum 1 (Wang et al., NDSS 2020: Norm-Sub).
    """
    return nearest_distribution(frequency, np.ones(frequency.shape))


def nearest_distribution(frequency: Floats, variance: Floats) -> Floats:
    """Return the y >= 0 with sum 1 that minimise sum (y - x)^2 / variance; variances are positive.

    They are max(x - t v, 0): the sum falls piecewise linearly in t, with a break at each x / v, so
    the piece in which it is 1 is found by sorting the breaks. No shares give no shares.
    """
    if not len(frequency):
        return np.zeros(0)
    breaks = frequency / variance
    order = np.argsort(-breaks)
    level = (np.cumsum(frequency[order]) - 1) / np.cumsum(variance[order])
    # The break itself is the least t at which a value is gone; those before it are still there.
    kept = np.flatnonzero(breaks[order] > level)[-1]
    return np.asarray(np.maximum(frequency - level[kept] * variance, 0.0))
