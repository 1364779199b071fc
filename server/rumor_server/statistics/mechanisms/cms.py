"""Count mean sketch and its Hadamard form, decoded by regression instead of by their means.

A sign of the Hadamard form supports every column where the matrix has that sign: the value's own
with probability p, any other with 1/2, independently for every two. Columns of signs are thus bits
of a count mean sketch with p and 1/2, and one regression serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.cohorts.cohort_estimates import estimate_cohorts, group_cohorts
from rumor_server.statistics.cohorts.cohort_regression import CohortTally
from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, bit_tally, integer_tally
from rumor_server.statistics.transforms import walsh_hadamard
from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms.cms import CountMeanSketch
from rumor_shared.part import Part


class CountMeanSketchEstimator(Part[CountMeanSketch], Estimator):
    """Tallies and estimates count mean sketch and its Hadamard form."""

    takes = CountMeanSketch

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (cells,) of one cohort's checked payloads.

        How many set each bit (cms), or how often each row came with each sign (hcms).
        """
        if self.mechanism.hadamard:
            return integer_tally(payloads, self.mechanism.payload_bytes, self.mechanism.cells)
        return bit_tally(payloads, self.mechanism.cells)

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        repeats: int = 1,
    ) -> Estimates:
        """Estimate the share of each value of a closed domain, or of each candidate."""
        return estimate_cohorts(self.metric, self._bits(tally), candidates, alpha=alpha)

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Estimates:
        """Estimate the summed share of each group of values of a closed domain."""
        return group_cohorts(self.metric, self._bits(tally), groups, alpha=alpha)

    @staticmethod
    def decode_cost() -> str:
        """Return how the work of an estimate grows."""
        return "cohorts x columns + k cohorts, then k^3"

    @staticmethod
    def plan_fields(build: Callable[[Mapping[str, int]], Mechanism], k: int) -> dict[str, int]:
        """Return the fields that fix what a registry may leave open, whatever the number of values.

        `build` makes the mechanism with further fields.
        """
        mechanism = CountMeanSketch.of(build({}))
        return {"cohorts": mechanism.cohorts, "columns": mechanism.columns}

    def _bits(self, tally: Tally) -> CohortTally:
        mechanism = self.mechanism
        p = float(mechanism.p)
        if not mechanism.hadamard:
            return CohortTally(tally.counts, tally.reports, p, 1 - p, "bits")
        positive, negative = tally.counts[:, 0::2], tally.counts[:, 1::2]
        agreeing = (tally.reports[:, None] + walsh_hadamard(positive - negative)) // 2
        return CohortTally(agreeing, tally.reports, p, 0.5, "bits")
