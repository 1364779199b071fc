"""Tails of the exact law of a support count: the sum of two binomials, one of which is small."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.intervals.count_law import CountLaw, Counts, binomial_upper

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
