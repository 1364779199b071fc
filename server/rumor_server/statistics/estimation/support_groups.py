"""Sums of values where a report supports many values at once (subset, hadamard, pgr).

A report that supports s values of a group has E[s] = p + (g - 1) q where the device's value is
among its g values, else g q, so the sum of the single estimates is the estimate of the sum. Its
variance is not the sum of theirs: support of one value goes with that of another.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.normal_estimates import estimate_normal
from rumor_server.statistics.intervals.significance import check_alpha


def group_outputs(
    names: tuple[str, ...],
    counts: NDArray[np.int64],
    supported: NDArray[np.int64],
    sizes: NDArray[np.int64],
    p: Fraction,
    q: Fraction,
    *,
    alpha: float,
) -> Estimates:
    """Estimate the share of each group from how often each output came.

    `counts` int64 (outputs,), `supported` int64 (groups, outputs) says how many of a group's values
    an output supports, `sizes` (groups,) how many it has. The variance is the one observed among
    the reports, less what differing values add to it: the population is fixed.
    """
    check_alpha(alpha)
    n = int(counts.sum())
    if not n:
        return Estimates.empty(names, alpha)
    gap = float(p - q)
    weights = counts / n
    mean = supported @ weights
    spread = np.maximum(np.square(supported - mean[:, None]) @ weights, 0)
    frequency = (mean - sizes * float(q)) / gap
    inside = np.clip(frequency, 0, 1)
    variance = np.maximum(spread / gap**2 - inside * (1 - inside), 0) / n
    return estimate_normal(names, n, frequency, variance, np.zeros_like(variance), alpha=alpha)
