"""How often a share is found: the exact power of the binomial test that marks values as present.

A value is called present where its count passes the least c with P[Bin(n, q) >= c] <= alpha / k.
Where few counts are expected by noise, c is so coarse and the law so skewed that a normal power is
far off: 731 devices find 1% of 1,000 values at epsilon 8 with power .53, where .95 was planned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rumor_server.statistics.intervals.count_law import CountLaw, binomial_upper
from rumor_server.statistics.intervals.exact_interval import upper_tail

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Counts expected by noise up to which the exact law is summed: beyond, a normal power errs by less
# than .01 (skewness .02 at the fourth standard deviation).
EXACT_COUNT = 2000
# Numbers of devices that are tried at once.
_TRIED = 256
# The wanted power may be passed by so much.
_COARSE = 0.02


def power(n: Counts, have: Counts, p: float, q: float, level: float) -> Floats:
    """Return how often a value is found that `have` of `n` devices have; arrays of one length."""
    law = CountLaw(
        int(n.max()), n, np.full(n.shape, p), np.full(n.shape, q), np.full(n.shape, p - q)
    )
    return np.asarray(upper_tail(law, critical_count(n, q, level), have))


def critical_count(n: Counts, q: float, level: float) -> Counts:
    """Return the least c with P[Bin(n, q) >= c] <= level."""
    z = float(-ndtri(level))
    about = n * q + z * np.sqrt(n * q * (1 - q)) + (z * z - 1) * (1 - 2 * q) / 6
    c: Counts = np.clip(np.ceil(about), 0, n + 1).astype(np.int64)
    rates = np.full(n.shape, q)
    while (high := (binomial_upper(c, n, rates) > level)).any():
        c[high] += 1
    while (low := ((c > 0) & (binomial_upper(np.maximum(c - 1, 0), n, rates) <= level))).any():
        c[low] -= 1
    return c


def devices_with(share: float, p: float, q: float, level: float, wanted: float) -> int:
    """Return the least number of whole devices that find a share with the wanted power.

    Numbers are tried at which the share is a whole number of devices. Power rises with them but for
    steps back, where the count to pass rises by one. Where one device more or less moves it by more
    than a coarse step, who has the value counts as drawn: else three lucky devices would be a plan.
    """
    have = 1
    while True:
        tried = np.arange(have, have + _TRIED, max(1, have // _TRIED), dtype=np.int64)
        n = np.ceil(tried / share * (1 - 1e-12)).astype(np.int64)
        found = power(n, tried, p, q, level)
        reached = np.flatnonzero(found >= wanted)
        if reached.size and found[reached[0]] <= wanted + _COARSE:
            return int(n[reached[0]])
        if reached.size:
            return _drawn_devices_with(int(n[reached[0]]), share, p, q, level, wanted)
        have = int(tried[-1]) + 1


def _drawn_devices_with(
    least: int, share: float, p: float, q: float, level: float, wanted: float
) -> int:
    """Return the least number from `least` on that finds the share of a larger population."""
    while True:
        n = np.arange(least, least + _TRIED, dtype=np.int64)
        count = critical_count(n, q, level)
        found = binomial_upper(count, n, np.full(n.shape, q + share * (p - q)))
        reached = np.flatnonzero(found >= wanted)
        if reached.size:
            return int(n[reached[0]])
        least += _TRIED


def share_found(n: int, p: float, q: float, level: float, wanted: float) -> float:
    """Return the least share of n devices that is found with the wanted power; above 1 if none."""
    few, enough = -1, n + 1
    while enough - few > 1:
        middle = (few + enough) // 2
        found = power(np.array([n]), np.array([middle]), p, q, level)[0] >= wanted
        few, enough = (few, middle) if found else (middle, enough)
    return enough / n
