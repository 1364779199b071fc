"""Local hashing over public cohorts, decoded by regression on all cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.cohorts.cohort_estimates import estimate_cohorts, group_cohorts
from rumor_server.statistics.cohorts.cohort_regression import CohortTally
from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, integer_tally
from rumor_shared.mechanism import MAX_CELLS, Mechanism
from rumor_shared.mechanisms.local_hashing import LocalHashing
from rumor_shared.part import Part

# Share of the variance that planning leaves to the regression. Fewer cohorts than 256 save little.
_LOSS = 0.03
_FEWEST_COHORTS = 256


class LocalHashingEstimator(Part[LocalHashing], Estimator):
    """Tallies and estimates local hashing."""

    takes = LocalHashing

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (g,): how often each cell came among one cohort's checked payloads."""
        return integer_tally(payloads, self.mechanism.payload_bytes, self.mechanism.cells)

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        repeats: int = 1,
    ) -> Estimates:
        """Estimate the share of each value of a closed domain, or of each candidate."""
        return estimate_cohorts(self.metric, self._cells(tally), candidates, alpha=alpha)

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Estimates:
        """Estimate the summed share of each group of values of a closed domain."""
        return group_cohorts(self.metric, self._cells(tally), groups, alpha=alpha)

    @staticmethod
    def decode_cost() -> str:
        """Return how the work of an estimate grows."""
        return "k^2 cohorts, once; then k^3"

    @staticmethod
    def plan_fields(build: Callable[[Mapping[str, int]], Mechanism], k: int) -> dict[str, int]:
        """Return the fields that fix what a registry may leave open, chosen for k values.

        `build` makes the mechanism with further fields.

        Regression on few cells costs accuracy: the least number of cohorts is taken that keeps the
        variance within 3% of ideal, if a tally may be so large.
        """
        g = LocalHashing.of(build({"cohorts": 1})).hash_range
        cohorts = _FEWEST_COHORTS
        while cohorts * g > MAX_CELLS:
            cohorts //= 2
        while 2 * cohorts * g <= MAX_CELLS and k > _LOSS * cohorts * (g - 1):
            cohorts *= 2
        return {"cohorts": cohorts, "hash_range": g}

    def _cells(self, tally: Tally) -> CohortTally:
        mechanism = self.mechanism
        return CohortTally(
            tally.counts, tally.reports, float(mechanism.p), float(mechanism.lie), "categories"
        )
