"""What shuffling adds: the central epsilon of n reports that nobody can tie to their devices.

Feldman, McMillan, Talwar (FOCS 2021, "Hiding among the clones"): an epsilon_0-LDP report hides
among the others, each of which is with probability e^-epsilon_0 a clone of either value's. With
C ~ Bin(n - 1, e^-epsilon_0), A ~ Bin(C, 1/2) and D ~ Bern(e^epsilon_0 / (e^epsilon_0 + 1)), the
shuffled reports are no easier to tell apart than

    (A + D, C - A + 1 - D)    and    (A + 1 - D, C - A + D).

It holds for any epsilon_0-LDP mechanism, and for n honest reports: fakes hide nobody. Rumor does
not shuffle, and charges nothing less for it; this is for those who put a shuffler in between.
"""

from __future__ import annotations

from math import ceil, exp, floor, log, sqrt

import numpy as np
from scipy.stats import binom

# Numbers of clones left out have less than this probability together; it is added to delta.
_LEFT_OUT = 1e-14
# Halvings of [0, epsilon_0]: the result is exact to about 1e-12.
_HALVINGS = 40


def closed_form(epsilon: float, n: int, delta: float) -> float | None:
    """Return the central epsilon at `delta` by Theorem 3.1, None where it says nothing.

    It needs epsilon <= ln(n / (16 ln(4 / delta))), and is several times `amplified`.
    """
    if epsilon > log(n / (16 * log(4 / delta))):
        return None
    clones = exp(epsilon) / n
    spread = 8 * sqrt(clones * log(4 / delta)) + 8 * clones
    first = log(1 + spread)
    return log(1 + (1 - exp(-epsilon)) / (1 + exp(-epsilon - first)) * spread)


def amplified(epsilon: float, n: int, delta: float) -> float:
    """Return the central epsilon at `delta` of n shuffled reports, numerically, never too small.

    Raises ValueError for an epsilon that is not positive, n below 1 or a delta outside (0, 1).
    """
    if epsilon <= 0 or n < 1 or not 0 < delta < 1:
        raise ValueError("epsilon, n and 1 / delta: are not all positive, or delta is not below 1")
    low, high = 0.0, epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if shuffled_delta(middle, epsilon, n) <= delta:
            high = middle
        else:
            low = middle
    return high


def shuffled_delta(central: float, epsilon: float, n: int) -> float:
    """Return an upper bound of delta at the central epsilon: the hockey-stick divergence.

    Given C, the ratio of both laws grows with the first count, so what exceeds e^central is a tail.
    """
    truth = exp(epsilon) / (exp(epsilon) + 1)
    lie, e = 1 - truth, exp(central)
    if truth <= e * lie:
        return 0.0
    # The first count a of a + b = C + 1 exceeds when a / b > bar.
    bar = (e * truth - lie) / (truth - e * lie)
    clones = _likely(n - 1, exp(-epsilon))
    first = np.floor((clones + 1) * bar / (1 + bar))
    # P[A >= first] and P[A > first], where first + 1 is the least count that exceeds.
    with_own, without = binom.sf(first - 1, clones, 0.5), binom.sf(first, clones, 0.5)
    own = truth * with_own + lie * without
    other = truth * without + lie * with_own
    excess = np.maximum(own - e * other, 0)
    return float(binom.pmf(clones, n - 1, exp(-epsilon)) @ excess) + _LEFT_OUT


def _likely(trials: int, p: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the counts of Bin(trials, p) but for tails below `_LEFT_OUT` together (Chernoff)."""
    # Bernstein: exp(-t^2 / (2 (v + t / 3))) is below any tail at this t.
    bar = log(2 / _LEFT_OUT)
    reach = bar / 3 + sqrt((bar / 3) ** 2 + 2 * bar * trials * p * (1 - p))
    low, high = floor(trials * p - reach), ceil(trials * p + reach)
    return np.arange(max(low, 0), min(high, trials) + 1, dtype=np.float64)
