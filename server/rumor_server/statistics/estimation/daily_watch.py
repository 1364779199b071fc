"""Watching every day with a held error rate: bounds of each day's running shares, on all days.

For mechanisms that answer with p and q the bounds are those of `intervals.confidence_sequence`, for
all days in one go. They hold whatever the number of reports.

Regressions (local_hashing, cms) have no such law. The sum of their errors up to a day is nearly a
Brownian motion in its own variance, and Robbins's normal mixture bounds that (Waudby-Smith, Arbour,
Sinha, Kennedy, Ramdas 2024): with S = sum n_d (share_d - truth_d), V = sum n_d^2 variance_d and any
fixed r,

    |S| < sqrt((V + 1/r) log((1 + r V) / a^2))      on all days with probability 1 - a

in the limit of many reports before the first look: an *asymptotic* confidence sequence, marked so.

Both follow the running mean of the shares of the reports, under any drift, from a start that was
declared beforehand, and need fresh noise: a permanent answer brings the same error every day.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.intervals.confidence_sequence import confidence_sequence, mixture
from rumor_server.statistics.intervals.count_law import Counts
from rumor_server.statistics.intervals.significance import check_alpha

# r is best at so many times the first day's variance: days 1 to 90 are then within 1.45 of a
# single look, where 20 times would make day 1 1.9 times as wide.
_SHARPEST_DAY = 5
# Cells of one table of (day and value, step): 16 MiB of float64.
_TABLE = 1 << 21


class WatchError(ValueError):
    """The metric can't be watched so."""


@dataclass(frozen=True, eq=False)
class Watch:
    """Running shares and bounds of each day, (days, k); bounds lie in [0, 1].

    `reports` (days,) is how many came up to the day. Days before the first report have bounds 0
    and 1 and a frequency of nan. `asymptotic` tells bounds that hold in the limit of many reports.
    """

    reports: Counts
    frequency: Floats
    low: Floats
    high: Floats
    asymptotic: bool


def watch_counts(
    counts: Counts, reports: Counts, p: Fraction, q: Fraction, *, alpha: float, memoised: bool
) -> Watch:
    """Return exact bounds from each day's own counts (days, k) and reports (days,).

    The first row is the declared start. Raises WatchError for a memoised metric, ValueError for an
    alpha outside (0, 1).
    """
    check_alpha(alpha)
    _refuse(memoised)
    n, supported = reports.cumsum(), counts.cumsum(axis=0)
    seen = np.flatnonzero(n)
    watch = _unseen(n, counts.shape[1], asymptotic=False)
    if not seen.size:
        return watch
    fixed = mixture(int(n[seen[0]]), p, q, counts.shape[1], alpha)
    total = n[seen, None].astype(np.float64)
    count = supported[seen].astype(np.float64)
    step = max(1, _TABLE // (counts.shape[1] * len(fixed.steps)))
    for start in range(0, len(seen), step):
        some = seen[start : start + step]
        bounds = confidence_sequence(supported[some], n[some, None], p, q, fixed)
        watch.low[some], watch.high[some] = bounds
    watch.frequency[seen] = (count / total - float(q)) / float(p - q)
    return watch


def watch_estimates(
    shares: Floats, variances: Floats, reports: Counts, *, alpha: float, memoised: bool
) -> Watch:
    """Return asymptotic bounds from each day's own shares and variances, (days, k).

    Entries of days without reports are ignored. The variances are those of the perturbation.
    Raises as `watch_counts`.
    """
    check_alpha(alpha)
    _refuse(memoised)
    n, k = reports.cumsum(), shares.shape[1]
    seen = np.flatnonzero(n)
    watch = _unseen(n, k, asymptotic=True)
    if not seen.size:
        return watch
    weight, some = reports[:, None].astype(np.float64), reports[:, None] > 0
    total = np.where(some, weight * shares, 0.0).cumsum(axis=0)[seen]
    variance = np.where(some, weight**2 * variances, 0.0).cumsum(axis=0)[seen]
    level = alpha / k
    bound = -2 * np.log(level)
    best = (bound + np.log1p(bound)) / (_SHARPEST_DAY * variance[0])
    reach = np.sqrt((variance + 1 / best) * (np.log1p(best * variance) + bound))
    mean, half = total / n[seen, None], reach / n[seen, None]
    watch.frequency[seen] = mean
    watch.low[seen], watch.high[seen] = (np.clip(mean + side * half, 0, 1) for side in (-1, 1))
    return watch


def _refuse(memoised: bool) -> None:
    if memoised:
        raise WatchError(
            "memoised: its devices repeat their noise, so no bound holds on all days; "
            "compare periods instead"
        )


def _unseen(reports: Counts, k: int, *, asymptotic: bool) -> Watch:
    shape = (len(reports), k)
    return Watch(reports, np.full(shape, np.nan), np.zeros(shape), np.ones(shape), asymptotic)
