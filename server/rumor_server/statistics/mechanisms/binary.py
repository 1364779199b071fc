"""Binary randomized response: one count, one degree of freedom, a row for both values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_categories
from rumor_server.statistics.estimation.pair_support import PairCounts, one_answer
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.part import Part
from rumor_shared.probability import as_fraction


class BinaryEstimator(Part[Binary], Estimator):
    """Tallies and estimates binary randomized response."""

    takes = Binary

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (1,): how many of the checked payloads name the second value."""
        return np.array([np.frombuffer(b"".join(payloads), dtype=np.uint8).sum()], dtype=np.int64)

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        repeats: int = 1,
    ) -> Estimates:
        """Estimate the shares of both values; they add up to 1.

        One is 1 less the other, so their intervals hold or fail together: the simultaneous bounds
        are the pointwise ones.
        """
        mechanism = self.mechanism
        keep = as_fraction(mechanism.keep)
        return estimate_pure(
            mechanism.values, _answers(tally), tally.n, keep, 1 - keep, alpha=alpha, comparisons=1
        )

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Estimates:
        """Estimate the summed share of each group; both values together have exactly 1."""
        keep = as_fraction(self.mechanism.keep)
        return group_categories(
            self.metric, _answers(tally), tally.n, keep, 1 - keep, groups, alpha=alpha
        )

    def pairs(self, tally: Tally) -> PairCounts:
        """Return what any two values are compared by."""
        keep = as_fraction(self.mechanism.keep)
        return PairCounts(_answers(tally), one_answer(keep, 1 - keep))


def _answers(tally: Tally) -> NDArray[np.int64]:
    ones = int(tally.counts[0, 0])
    return np.array([tally.n - ones, ones], dtype=np.int64)
