"""Tally and estimate mixtures with a uniform value: a pure mechanism, so rumor does the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_categories
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, integer_tally
from rumor_shared.part import Part
from uniform_mix.parameters import UniformMix


class UniformMixEstimator(Part[UniformMix], Estimator):
    """Counts how often each value came, and debiases the counts."""

    takes = UniformMix

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (k,): how often each value came."""
        return integer_tally(payloads, 1, self.mechanism.cells)

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        repeats: int = 1,
    ) -> Estimates:
        """Estimate the share of each value."""
        p, q = self.mechanism.support()
        return estimate_pure(self.mechanism.values, tally.counts[0], tally.n, p, q, alpha=alpha)

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Estimates:
        """Estimate the summed share of each group of values; the noise is fresh in each report."""
        p, q = self.mechanism.support()
        return group_categories(self.metric, tally.counts[0], tally.n, p, q, groups, alpha=alpha)
