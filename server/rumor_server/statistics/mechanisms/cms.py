"""Count mean sketch and its Hadamard form, decoded by regression instead of by their means.

A sign of the Hadamard form supports every column where the matrix has that sign: the value's own
with probability p, any other with 1/2, independently for every two. Columns of signs are thus bits
of a count mean sketch with p and 1/2, and one regression serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.authenticity.weight_law import Bits
from rumor_server.statistics.bit_tally import bit_tally
from rumor_server.statistics.cohorts.cohort_estimates import estimate_cohorts, group_cohorts
from rumor_server.statistics.cohorts.cohort_regression import CohortTally
from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups
from rumor_server.statistics.integer_tally import integer_tally
from rumor_server.statistics.tally import Tally
from rumor_server.statistics.walsh_hadamard import walsh_hadamard
from rumor_shared.mechanisms.cms import CountMeanSketch
from rumor_shared.metric import Metric

DECODE_COST = "cohorts x columns + k cohorts, then k^3"


def tally(mechanism: CountMeanSketch, payloads: Sequence[bytes]) -> NDArray[np.int64]:
    """Return int64 (cells,) of one cohort's checked payloads.

    How many set each bit (cms), or how often each row came with each sign (hcms).
    """
    if mechanism.hadamard:
        return integer_tally(payloads, mechanism.payload_bytes, mechanism.cells)
    return bit_tally(payloads, mechanism.cells)


def estimate(
    metric: Metric, tally: Tally, candidates: Sequence[str] | None = None, *, alpha: float = 0.05
) -> Estimates:
    """Estimate the share of each value of a closed domain, or of each candidate."""
    return estimate_cohorts(metric, _bits(metric, tally), candidates, alpha=alpha)


def group(metric: Metric, tally: Tally, groups: Groups, *, alpha: float = 0.05) -> Estimates:
    """Estimate the summed share of each group of values of a closed domain."""
    return group_cohorts(metric, _bits(metric, tally), groups, alpha=alpha)


def support(mechanism: CountMeanSketch) -> tuple[Fraction, Fraction]:
    """Return P[a report supports a value's column] for the value and, over all hashes, others."""
    p = mechanism.p
    clear = Fraction(1, 2) if mechanism.hadamard else 1 - p
    return p, clear + (p - clear) / mechanism.columns


def bits(mechanism: CountMeanSketch) -> Bits | None:
    """Return the law of a report's bits; None in the Hadamard form, whose reports are numbers."""
    if mechanism.hadamard:
        return None
    return Bits(mechanism.cells, 1, float(mechanism.p), float(1 - mechanism.p))


def free_cells(mechanism: CountMeanSketch) -> int:
    """Return how many cells tell values apart."""
    return mechanism.cohorts * mechanism.columns


def settle(build: Callable[[dict[str, int]], CountMeanSketch], k: int) -> dict[str, int]:
    """Return the fields that fix what a registry may leave open, whatever the number of values.

    `build` makes the mechanism with further fields.
    """
    mechanism = build({})
    return {"cohorts": mechanism.cohorts, "columns": mechanism.columns}


def _bits(metric: Metric, tally: Tally) -> CohortTally:
    mechanism = cast(CountMeanSketch, metric.mechanism)
    p = float(mechanism.p)
    if not mechanism.hadamard:
        return CohortTally(tally.counts, tally.reports, p, 1 - p, "bits")
    positive, negative = tally.counts[:, 0::2], tally.counts[:, 1::2]
    agreeing = (tally.reports[:, None] + walsh_hadamard(positive - negative)) // 2
    return CohortTally(agreeing, tally.reports, p, 0.5, "bits")
