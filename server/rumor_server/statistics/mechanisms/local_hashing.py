"""Local hashing over public cohorts, decoded by regression on all cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.cohorts.cohort_estimates import estimate_cohorts, group_cohorts
from rumor_server.statistics.cohorts.cohort_regression import CohortTally
from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups
from rumor_server.statistics.integer_tally import integer_tally
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanism import MAX_CELLS
from rumor_shared.mechanisms.local_hashing import LocalHashing
from rumor_shared.metric import Metric

DECODE_COST = "k^2 cohorts, once; then k^3"

# Share of the variance that planning leaves to the regression. Fewer cohorts than 256 save little.
_LOSS = 0.03
_FEWEST_COHORTS = 256


def tally(mechanism: LocalHashing, payloads: Sequence[bytes]) -> NDArray[np.int64]:
    """Return int64 (g,): how often each cell came among one cohort's checked payloads."""
    return integer_tally(payloads, mechanism.payload_bytes, mechanism.cells)


def estimate(
    metric: Metric, tally: Tally, candidates: Sequence[str] | None = None, *, alpha: float = 0.05
) -> Estimates:
    """Estimate the share of each value of a closed domain, or of each candidate."""
    return estimate_cohorts(metric, _cells(metric, tally), candidates, alpha=alpha)


def group(metric: Metric, tally: Tally, groups: Groups, *, alpha: float = 0.05) -> Estimates:
    """Estimate the summed share of each group of values of a closed domain."""
    return group_cohorts(metric, _cells(metric, tally), groups, alpha=alpha)


def support(mechanism: LocalHashing) -> tuple[Fraction, Fraction]:
    """Return P[a report shows a value's cell] for the value and, over all hashes, for any other."""
    return mechanism.p, Fraction(1, mechanism.hash_range)


def free_cells(mechanism: LocalHashing) -> int:
    """Return how many cells tell values apart: one less a cohort than there are."""
    return mechanism.cohorts * (mechanism.hash_range - 1)


def settle(build: Callable[[dict[str, int]], LocalHashing], k: int) -> dict[str, int]:
    """Return the fields that fix what a registry may leave open, chosen for k values.

    `build` makes the mechanism with further fields.

    Regression on few cells costs accuracy: the least number of cohorts is taken that keeps the
    variance within 3% of ideal, if a tally may be so large.
    """
    g = build({"cohorts": 1}).hash_range
    cohorts = _FEWEST_COHORTS
    while cohorts * g > MAX_CELLS:
        cohorts //= 2
    while 2 * cohorts * g <= MAX_CELLS and k > _LOSS * cohorts * (g - 1):
        cohorts *= 2
    return {"cohorts": cohorts, "hash_range": g}


def _cells(metric: Metric, tally: Tally) -> CohortTally:
    mechanism = cast(LocalHashing, metric.mechanism)
    return CohortTally(
        tally.counts, tally.reports, float(mechanism.p), float(mechanism.lie), "categories"
    )
