"""Intervals by inversion of two equal-tailed tests, for counts that are large but not yet normal.

Each bound is the share at which the count's tail is alpha / 2. The tail is read half a count
outwards, as of integers it must be, and its quantile is Cornish and Fisher's (1938), by the law's
own skewness and kurtosis. Without them the score interval covers .941 where 30 counts are noise,
and over 1,000 values at once .873.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.intervals.count_law import CountLaw, Counts
from rumor_server.statistics.intervals.score_interval import score_interval
from rumor_server.statistics.intervals.significance import quantile

# What the expansion leaves out is below a thousandth of a tail from 100 counts on: it is given
# away, so that no coverage is below 1 - alpha.
_SPARED = 2e-3
# Cumulants are those at the bound, which depends on them: the third pass changes a bound by 1e-6.
_PASSES = 3


def corrected_interval(law: CountLaw, counts: Counts, alpha: float) -> tuple[Floats, Floats]:
    """Return bounds of f that hold the truth with probability 1 - alpha; not clipped to [0, 1]."""
    z = quantile(alpha * (1 - _SPARED), 1)
    return _bound(law, counts - 0.5, z, 0), _bound(law, counts + 0.5, z, 1)


def _bound(law: CountLaw, counts: NDArray[np.floating[Any]], z: float, side: int) -> Floats:
    bound = score_interval(law, counts, z)[side]
    for _ in range(_PASSES):
        bound = score_interval(law, counts, _quantile(law, bound, z, side))[side]
    return bound


def _quantile(law: CountLaw, frequency: Floats, z: float, side: int) -> Floats:
    """Return how many deviations the count's quantile is from its mean, above or below it."""
    have = law.n * np.clip(frequency, 0, 1)
    own, other = law.p * (1 - law.p), law.q * (1 - law.q)
    rest = law.trials - have
    second = have * own + rest * other
    # A count spread evenly over its unit of width has this variance more, and kurtosis less.
    spread = second + 1 / 12
    third = have * own * (1 - 2 * law.p) + rest * other * (1 - 2 * law.q)
    fourth = have * own * (1 - 6 * own) + rest * other * (1 - 6 * other) - 1 / 120
    skewness, kurtosis = third / spread**1.5, fourth / spread**2
    at = z if side == 0 else -z
    value = (
        at
        + skewness * (at**2 - 1) / 6
        + kurtosis * (at**3 - 3 * at) / 24
        - skewness**2 * (2 * at**3 - 5 * at) / 36
    )
    return np.asarray(np.abs(value) * np.sqrt(spread / np.maximum(second, 1e-300)))
