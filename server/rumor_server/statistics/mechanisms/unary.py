"""Unary encoding: how often each value's bit was set, debiased."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_bits
from rumor_server.statistics.estimation.pair_support import PairCounts, independent_bits
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, bit_tally
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.part import Part


class UnaryEstimator(Part[Unary], Estimator):
    """Tallies and estimates unary encoding, symmetric and optimised."""

    takes = Unary

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (k,): in how many of the checked payloads each bit is set."""
        return bit_tally(payloads, self.mechanism.cells)

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        repeats: int = 1,
    ) -> Estimates:
        """Estimate the share of each value; the shares add up to 1 only on average."""
        mechanism = self.mechanism
        return estimate_pure(
            mechanism.values, tally.counts[0], tally.n, mechanism.p, mechanism.q, alpha=alpha
        )

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Estimates:
        """Estimate the summed share of each group of values."""
        mechanism = self.mechanism
        return group_bits(
            self.metric, tally.counts[0], tally.n, mechanism.p, mechanism.q, groups, alpha=alpha
        )

    def pairs(self, tally: Tally) -> PairCounts:
        """Return what any two values are compared by."""
        law = independent_bits(self.mechanism.p, self.mechanism.q)
        return PairCounts(tally.counts[0], law)
