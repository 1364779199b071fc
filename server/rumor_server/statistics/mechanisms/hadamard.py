"""Hadamard response: every value's half is summed by one fast Walsh-Hadamard transform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_members, group_outputs
from rumor_server.statistics.estimation.pair_support import PairCounts, hadamard_halves
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, integer_tally
from rumor_server.statistics.transforms import walsh_hadamard
from rumor_shared.mechanisms.hadamard import Hadamard
from rumor_shared.part import Part


class HadamardEstimator(Part[Hadamard], Estimator):
    """Tallies and estimates Hadamard response."""

    takes = Hadamard

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (K,): how often each column came among the checked payloads."""
        return integer_tally(payloads, self.mechanism.payload_bytes, self.mechanism.cells)

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
        counts = self.supports(tally.counts[0])
        return estimate_pure(
            mechanism.values, counts, tally.n, mechanism.p, mechanism.q, alpha=alpha
        )

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Estimates:
        """Estimate the summed share of each group of values."""
        mechanism = self.mechanism
        members = group_members(self.metric, groups)
        chosen = np.zeros((len(members), mechanism.columns), dtype=np.int64)
        for row, indices in zip(chosen, members.values(), strict=True):
            row[indices + 1] = 1
        sizes = chosen.sum(axis=1)
        supported = (sizes[:, None] + walsh_hadamard(chosen)) // 2
        return group_outputs(
            tuple(members), tally.counts[0], supported, sizes, mechanism.p, mechanism.q, alpha=alpha
        )

    def pairs(self, tally: Tally) -> PairCounts:
        """Return what any two values are compared by."""
        return PairCounts(self.supports(tally.counts[0]), hadamard_halves(self.mechanism.p))

    @staticmethod
    def decode_cost() -> str:
        """Return how the work of an estimate grows."""
        return "k log k"

    def supports(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 (k,): how many of the reports are in each value's half.

        `columns` int64 (K,) says how often each column came. A half has (all + transform) / 2 of
        them.
        """
        rows = walsh_hadamard(columns)[1 : len(self.mechanism.values) + 1]
        halves: NDArray[np.int64] = (columns.sum() + rows) // 2
        return halves
