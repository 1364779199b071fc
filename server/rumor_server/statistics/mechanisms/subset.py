"""Subset selection: how often each value was in a report's set, debiased."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_members
from rumor_server.statistics.estimation.normal_estimates import estimate_normal
from rumor_server.statistics.estimation.pair_support import PairCounts, uniform_subset
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.intervals.significance import check_alpha
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, bit_tally, integer_tally
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.part import Part


class SubsetEstimator(Part[Subset], Estimator):
    """Tallies and estimates subset selection."""

    takes = Subset

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (k,): in how many of the checked payloads each value is."""
        if self.mechanism.listed:
            return integer_tally(payloads, self.mechanism.index_bytes, self.mechanism.cells)
        return bit_tally(payloads, self.mechanism.cells)

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
        """Estimate the summed share of each group of values, with the exact variance of the sum."""
        check_alpha(alpha)
        mechanism = self.mechanism
        members = group_members(self.metric, groups)
        n = tally.n
        if not n:
            return Estimates.empty(tuple(members), alpha)
        gap = mechanism.p - mechanism.q
        frequency, absent, slope = [], [], []
        for indices in members.values():
            count = int(tally.counts[0][indices].sum())
            frequency.append(float((count - n * len(indices) * mechanism.q) / (n * gap)))
            without, within = (_variance(mechanism, len(indices), own) for own in (0, 1))
            absent.append(float(without / (n * gap**2)))
            slope.append(float((within - without) / (n * gap**2)))
        return estimate_normal(
            tuple(members), n, np.array(frequency), np.array(absent), np.array(slope), alpha=alpha
        )

    def pairs(self, tally: Tally) -> PairCounts:
        """Return what any two values are compared by."""
        mechanism = self.mechanism
        law = uniform_subset(mechanism.p, mechanism.q, mechanism.size, len(mechanism.values))
        return PairCounts(tally.counts[0], law)


def _variance(mechanism: Subset, group: int, own: int) -> Fraction:
    """Return the variance of how many of a group's values one set holds.

    `own` is 1 where the device's value is in the group. The other members are a uniform subset of
    the k - 1 other values, of which group - own are in the group: hypergeometric.
    """
    k, w, p = len(mechanism.values), mechanism.size, mechanism.p
    mean = square = Fraction(0)
    for chance, drawn, held in ((p, w - 1, own), (1 - p, w, 0)):
        share = Fraction(group - own, k - 1)
        expected = held + drawn * share
        spread = drawn * share * (1 - share) * Fraction(k - 1 - drawn, max(1, k - 2))
        mean += chance * expected
        square += chance * (spread + expected**2)
    return square - mean**2
