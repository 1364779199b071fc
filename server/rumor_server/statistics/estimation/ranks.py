"""Ranks with confidence: an order is stated only where it is confirmed.

All ordered pairs are tested at once with Holm's step-down (1979): at [A, B] that A's share is at
most B's. With probability 1 - alpha no rejection is false, and then the rank of *every* value lies
between 1 + the number of values confirmed above it and k - the number confirmed below it
(simultaneous rank sets: Bazylik, Mogstad, Romano, Shaikh, Wilhelm 2021). Whatever is read off that
one set of confirmed pairs, the leader, the top five, a whole order, is wrong with probability alpha
at most, however it was chosen. The rank of a value named beforehand has fewer pairs to test.

Where shares' simultaneous intervals are all there is, those that lie apart confirm an order (Klein,
Wright, Wieczorek 2020): valid too, and wider.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Bools, Floats
from rumor_server.statistics.intervals.significance import check_alpha

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rank of each value, 1 the commonest, lies in `best` to `worst`: all at once at 1 - alpha.

    Values of equal shares share the ranks they fill: each of them is right.
    """

    alpha: float
    best: Integers
    worst: Integers

    @property
    def known(self) -> Bools:
        """Mark the values whose rank is one number."""
        return np.equal(self.best, self.worst)

    @property
    def leader(self) -> int | None:
        """The value that is confirmed above all others, or None."""
        first = np.flatnonzero(self.worst == 1)
        return int(first[0]) if first.size else None

    def top(self, tau: int) -> tuple[Bools, Bools]:
        """Mark the values that are among the `tau` commonest, and those that may be."""
        if not 1 <= tau <= len(self.best):
            raise ValueError(f"tau: is not between 1 and the {len(self.best)} values")
        return self.worst <= tau, self.best <= tau


def holm(p_value: Floats, alpha: float, tests: int) -> Bools:
    """Mark what Holm's step-down rejects of `tests` hypotheses, whatever their dependence.

    `p_value` holds all of them in any shape, or those that can be rejected at all.
    """
    check_alpha(alpha)
    low = np.flatnonzero(p_value <= alpha)
    order = low[np.argsort(p_value.flat[low], kind="stable")]
    failed = p_value.flat[order] > alpha / (tests - np.arange(len(order)))
    stop = int(failed.argmax()) if failed.any() else len(order)
    rejected = np.zeros(p_value.shape, dtype=np.bool_)
    rejected.flat[order[:stop]] = True
    return rejected


def confirmed_order(p_value: Floats, alpha: float) -> Bools:
    """Return (k, k): at [A, B] whether A is confirmed above B, with one error rate for all.

    `p_value` (k, k) is one-sided, as `contrasts.pairwise_p_values` gives it; both directions count
    as tests, so that an order that is the wrong way round is an error as well.
    """
    k = len(p_value)
    tested = np.where(np.eye(k, dtype=np.bool_), 1.0, p_value)
    return holm(tested, alpha, max(1, k * (k - 1)))


def simultaneous_ranks(p_value: Floats, alpha: float) -> Ranks:
    """Return the ranks of all values at once from (k, k) one-sided p-values."""
    confirmed = confirmed_order(p_value, alpha)
    above, below = confirmed.sum(axis=0), confirmed.sum(axis=1)
    return Ranks(alpha, 1 + above, len(p_value) - below)


def marginal_rank(p_value: Floats, value: int, alpha: float) -> tuple[int, int]:
    """Return the best and worst rank of one value that was named before the data were seen.

    Only the pairs with it are tested: narrower than its row of `simultaneous_ranks`, and no
    statement about whichever value came out first.
    """
    k = len(p_value)
    others = np.arange(k) != value
    tested = np.stack([p_value[others, value], p_value[value, others]])
    above, below = holm(tested, alpha, max(1, 2 * (k - 1))).sum(axis=1)
    return 1 + int(above), k - int(below)


def ranks_of_intervals(low: Floats, high: Floats, alpha: float) -> Ranks:
    """Return ranks from intervals that hold all shares at once at 1 - alpha: apart is in order."""
    check_alpha(alpha)
    k = len(low)
    above = k - np.searchsorted(np.sort(low), high, side="right")
    below = np.searchsorted(np.sort(high), low, side="left")
    return Ranks(alpha, 1 + above, k - below)
