"""The exact law of a support count, on which every estimate of a pure protocol rests.

Wang, Blocki, Li, Jha (USENIX Security 2017), "pure" protocols: a report supports a value with
probability p where the device has it, and with q where it has another. Among n devices, x of which
have the value, the count is

    C ~ Bin(x, p) + Bin(trials - x, q),      trials = n

with x fixed: the truth is these devices' own share f = x / n, not that of a population they were
drawn from. A sum over g values of a unary encoding is of the same form with trials = g n coins.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.noise import Noise

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CountLaw:
    """The law of each of several counts; `trials`, `p`, `q`, `gap` have one entry a count.

    `gap` is p - q > 0, subtracted before it was rounded to a float.
    """

    n: int
    trials: Counts
    p: Floats
    q: Floats
    gap: Floats

    def select(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> CountLaw:
        """Return the laws of some of the counts."""
        return CountLaw(self.n, self.trials[which], self.p[which], self.q[which], self.gap[which])

    def frequency(self, counts: Counts | NDArray[np.floating[Any]]) -> Floats:
        """Return the unbiased estimate of f: (C - trials q) / (n (p - q))."""
        return (counts - self.trials * self.q) / (self.n * self.gap)

    def variance_terms(self) -> tuple[Floats, Floats]:
        """Return a, b of the exact variance b + a f of the estimated frequency at the truth f."""
        scale = self.n * self.gap**2
        clear = self.q * (1 - self.q)
        return (self.p * (1 - self.p) - clear) / scale, self.trials * clear / (self.n * scale)

    def noise(self, support: tuple[Fraction, Fraction] | None = None) -> Noise:
        """Return how the estimates of n devices scatter; `support` is told where it is p and q."""
        slope, absent = self.variance_terms()
        beforehand = float(absent[0]) if support is not None and absent.size else None
        return Noise(absent, slope, self.n, beforehand, support)

    def p_value(self, counts: Counts) -> Floats:
        """Return P[so high a count or a higher one] where no device has the value: exact."""
        return binomial_upper(counts, self.trials, self.q)


def count_law(n: int, p: Fraction, q: Fraction, counts: Counts) -> tuple[CountLaw, Counts]:
    """Return the law of `counts` of n reports each, and the counts to judge by it.

    Where p < q (a response that is turned round) those are the reports that do NOT support.
    """
    trials = np.full(counts.shape, n, dtype=np.int64)
    if p < q:
        p, q, counts = 1 - p, 1 - q, trials - counts
    one = np.ones(counts.shape)
    return CountLaw(n, trials, one * float(p), one * float(q), one * float(p - q)), counts


def binomial_upper(counts: Counts, trials: Counts, q: Floats) -> Floats:
    """Return P[Bin(trials, q) >= counts], to full relative precision in the far tail."""
    inside = (counts > 0) & (counts <= trials)
    tail = betainc(np.where(inside, counts, 1), np.where(inside, trials - counts + 1, 1), q)
    return np.where(inside, tail, np.where(counts <= 0, 1.0, 0.0))
