"""k-ary randomized response: how often each answer came, debiased."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_categories
from rumor_server.statistics.estimation.pair_support import PairCounts, one_answer
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, integer_tally
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.part import Part


class KrrEstimator(Part[Krr], Estimator):
    """Tallies and estimates k-ary randomized response."""

    takes = Krr

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (k,): how often each answer came among the checked payloads."""
        return integer_tally(payloads, self.mechanism.payload_bytes, self.mechanism.cells)

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        repeats: int = 1,
    ) -> Estimates:
        """Estimate the share of each value; the raw signed shares add up to 1."""
        mechanism = self.mechanism
        return estimate_pure(
            mechanism.values,
            tally.counts[0],
            tally.n,
            mechanism.p,
            mechanism.q,
            alpha=alpha,
            # One of two shares is 1 less the other: they are right or wrong together.
            comparisons=1 if len(mechanism.values) == 2 else None,
        )

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Estimates:
        """Estimate the summed share of each group of values."""
        mechanism = self.mechanism
        return group_categories(
            self.metric, tally.counts[0], tally.n, mechanism.p, mechanism.q, groups, alpha=alpha
        )

    def pairs(self, tally: Tally) -> PairCounts:
        """Return what any two values are compared by."""
        law = one_answer(self.mechanism.p, self.mechanism.q)
        return PairCounts(tally.counts[0], law)
