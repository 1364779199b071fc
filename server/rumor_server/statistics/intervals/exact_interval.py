"""Intervals by the exact law of the count: for counts too small to be normal.

The count is Bin(x, p) + Bin(trials - x, q) and stochastically increasing in x, so the x that
neither of two one-sided exact tests at alpha / 2 refuses form a run of integers (the construction
of Clopper and Pearson, 1934). The truth x is one of them with probability at least 1 - alpha,
whatever it is: no approximation, and conservative because counts are integers.

Clopper and Pearson's own interval, for a binomial support rate r = q + (p - q) f, would hold for
these devices as well, since a sum of unequal coins is less spread than the binomial of the same
mean (Hoeffding 1956). It is needlessly wide where the coins are nearly certain: 14 times at
p = .997, q = .0003, f = .3.

Tails of the exact law of a support count: the sum of two binomials, one of which is small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.intervals.count_law import CountLaw, Counts, binomial_upper
from rumor_server.statistics.intervals.score_interval import score_interval
from rumor_server.statistics.intervals.significance import quantile

# Cells of one table of (count, term of the convolution): 16 MiB of float64.
_TABLE = 1 << 21


def upper_tail(law: CountLaw, counts: Counts, x: Counts) -> Floats:
    """Return P[C >= counts] where x devices have the value. trials q is in the hundreds at most."""
    return _convolve(law, x, counts, upper=True)


def lower_tail(law: CountLaw, counts: Counts, x: Counts) -> Floats:
    """Return P[C <= counts] where x devices have the value. trials q is in the hundreds at most."""
    return _convolve(law, x, counts, upper=False)


def _convolve(law: CountLaw, x: Counts, counts: Counts, *, upper: bool) -> Floats:
    tail = np.empty(counts.shape)
    terms = _terms(law)
    step = max(1, _TABLE // terms)
    for start in range(0, len(counts), step):
        part = slice(start, start + step)
        p, q, devices = law.p[part, None], law.q[part, None], x[part, None]
        others = law.trials[part, None] - devices
        false = np.arange(terms)
        true = counts[part, None] - false
        given = (
            binomial_upper(true, devices, p)
            if upper
            else binomial_upper(devices - true, devices, 1 - p)
        )
        tail[part] = (_binomial(others, q, false) * given).sum(axis=1)
    return tail


def _terms(law: CountLaw) -> int:
    """Return how many terms hold all but e**-35 of the smaller binomial, by Bernstein's inequality.

    P[B >= m + t] <= exp(-t^2 / (2m + 2t/3)) with t = 8 sqrt(m) + 30 is below 1e-15 for any mean m:
    no alpha / k of 2**22 values comes near.
    """
    mean = float((law.trials * law.q).max())
    return int(mean + 8 * mean**0.5 + 30) + 1


def _binomial(trials: Counts, q: Floats, j: Counts) -> Floats:
    """Return P[Bin(trials, q) = j] for j = 0, 1, 2 ... along the last axis."""
    inside = np.minimum(j, trials)
    log = gammaln(trials + 1) - gammaln(inside + 1) - gammaln(trials - inside + 1)
    # A group of all values has q = 0 among the reports that do not support: log 0 times 0 is 0.
    log += inside * np.log(np.maximum(q, 1e-300)) + (trials - inside) * np.log1p(-q)
    return np.where(j <= trials, np.exp(log), 0.0)


# The secant ends in three or four steps; after these the bracket is halved, which always ends.
_SECANT_STEPS = 8


def exact_interval(law: CountLaw, counts: Counts, alpha: float) -> tuple[Floats, Floats]:
    """Return bounds of f that hold the truth with probability at least 1 - alpha.

    They are shares x / n of whole devices within [0, 1], widened to hold the raw signed estimate.
    Either trials q or trials (1 - p) must be in the hundreds at most; the work grows with it.
    """
    low, high = np.empty(counts.shape), np.empty(counts.shape)
    turned = law.q > 1 - law.p
    for part, where in ((~turned, False), (turned, True)):
        if part.any():
            low[part], high[part] = _solve(law.select(part), counts[part], alpha, turned=where)
    estimate = law.frequency(counts)
    return np.minimum(low, estimate), np.maximum(high, estimate)


def _solve(law: CountLaw, counts: Counts, alpha: float, *, turned: bool) -> tuple[Floats, Floats]:
    first, inverse = distinct(law, counts)
    law, counts = law.select(first), counts[first]
    z = quantile(alpha, 1)
    start, end = np.zeros_like(counts), np.full_like(counts, law.n)
    about = counts.astype(np.float64)
    guess_low = law.n * score_interval(law, about - 0.5, z)[0]
    guess_high = law.n * score_interval(law, about + 0.5, z)[1]
    if turned:
        # Judge the reports that do not support, by the devices that do not have the value.
        start, end = law.trials - law.n, law.trials
        guess_low, guess_high = law.trials - guess_high, law.trials - guess_low
        law, counts = (
            CountLaw(law.n, law.trials, 1 - law.q, 1 - law.p, law.gap),
            law.trials - counts,
        )
    least = _Search(law, counts, alpha, rising=True).least(start, end, guess_low)
    most = -_Search(law, counts, alpha, rising=False).least(-end, -start, -guess_high)
    if turned:
        least, most = law.trials - most, law.trials - least
    return (least / law.n)[inverse], (most / law.n)[inverse]


def distinct(law: CountLaw, counts: Counts) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of distinct counts and where each went: many values share a small one."""
    if all((column == column[0]).all() for column in (law.trials, law.p, law.q)):
        _, first, inverse = np.unique(counts, return_index=True, return_inverse=True)
        return first, inverse
    every = np.arange(len(counts))
    return every, every


class _Search:
    """The least y at which a rising tail passes alpha / 2.

    Either y = x and the tail is P[C >= c], or y = -x and the tail is P[C <= c].
    """

    def __init__(self, law: CountLaw, counts: Counts, alpha: float, *, rising: bool) -> None:
        self._law = law
        self._counts = counts
        self._level = alpha / 2
        self._rising = rising

    def least(self, start: Counts, end: Counts, guess: Floats) -> Counts:
        """Return the least y in [start, end] that passes, or `end` where none does."""
        below, passes = start - 1, end.copy()
        y = self._between(guess, below, passes)
        open_ = np.flatnonzero(passes - below > 1)
        step = 0
        while open_.size:
            law, at = self._law.select(open_), y[open_]
            tail = self._tail(law, self._counts[open_], at)
            ok = tail > self._level
            passes[open_[ok]], below[open_[~ok]] = at[ok], at[~ok]
            if step < _SECANT_STEPS:
                # Aim at the far side of the root, so that the bracket closes from both ends.
                aim = np.ceil(self._root(law, at, tail)) - ok
            else:
                aim = (below[open_] + passes[open_]) / 2
            y[open_] = self._between(aim, below[open_], passes[open_])
            open_ = open_[passes[open_] - below[open_] > 1]
            step += 1
        return passes

    def _tail(self, law: CountLaw, counts: Counts, y: Counts) -> Floats:
        return upper_tail(law, counts, y) if self._rising else lower_tail(law, counts, -y)

    def _root(self, law: CountLaw, y: Counts, tail: Floats) -> Floats:
        """Were the count normal, the tail's quantile would rise by gap / sd a device."""
        x = np.abs(y)
        variance = x * law.p * (1 - law.p) + (law.trials - x) * law.q * (1 - law.q)
        distance = ndtri(self._level) - ndtri(np.clip(tail, 1e-300, 1 - 1e-16))
        return y + distance * np.sqrt(variance) / law.gap

    @staticmethod
    def _between(aim: Floats, below: Counts, passes: Counts) -> Counts:
        inside = np.clip(aim, below + 1, np.maximum(passes - 1, below + 1))
        return np.floor(inside).astype(np.int64)
