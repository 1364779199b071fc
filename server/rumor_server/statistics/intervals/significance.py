"""Which values are there at all: tests of many values at once.

Tails of the binomial law, exact far out too, from the incomplete beta function.

`scipy.stats` has them as well, and takes a second to import.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, ndtri

from rumor_server.statistics.estimates import Bools, Floats


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


def check_alpha(alpha: float) -> None:
    """Raise ValueError unless `alpha` may be an error rate."""
    if not 0 < alpha < 1:
        raise ValueError("alpha: an error rate lies between 0 and 1; choose one such as .05")


def quantile(alpha: float, comparisons: int) -> float:
    """Return the normal quantile of a two-sided interval at level 1 - alpha / comparisons."""
    return float(-ndtri(alpha / (2 * comparisons)))


def bonferroni(p_value: Floats, alpha: float, comparisons: int | None = None) -> Bools:
    """Mark the values whose p-value is at most alpha / comparisons (the number of values).

    The chance of a single false mark among all values is at most alpha, whatever their dependence.
    """
    return p_value <= alpha / max(1, len(p_value) if comparisons is None else comparisons)


def benjamini_hochberg(p_value: Floats, alpha: float) -> Bools:
    """Mark values so that the expected share of false marks among all marks is at most alpha.

    Step-up procedure of Benjamini and Hochberg (1995): the largest i with p_(i) <= i alpha / m.
    It holds for independent p-values, and under positive dependence (Benjamini, Yekutieli 2001).
    """
    m = len(p_value)
    order = np.argsort(p_value, kind="stable")
    below = np.flatnonzero(p_value[order] <= alpha * np.arange(1, m + 1) / max(1, m))
    marks = np.zeros(m, dtype=np.bool_)
    if below.size:
        marks[order[: below[-1] + 1]] = True
    return marks
