"""Projective geometry response: reports orthogonal to each value, by one Fourier transform."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_members, group_outputs
from rumor_server.statistics.estimation.pair_support import PairCounts, orthogonal_points
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms.estimator import Estimator
from rumor_server.statistics.tally import Tally, integer_tally
from rumor_server.statistics.transforms import orthogonal_sums
from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms.pgr import Pgr
from rumor_shared.part import Part


class PgrEstimator(Part[Pgr], Estimator):
    """Tallies and estimates projective geometry response."""

    takes = Pgr

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (K,): how often each point came among the checked payloads."""
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
        supported = np.zeros((len(members), mechanism.points), dtype=np.int64)
        for row, indices in zip(supported, members.values(), strict=True):
            row[indices] = 1
            # Orthogonality is mutual: the same transform counts a group's values for each report.
            row[:] = orthogonal_sums(row, mechanism.field, mechanism.dimension)
        sizes = np.array([len(indices) for indices in members.values()], dtype=np.int64)
        return group_outputs(
            tuple(members), tally.counts[0], supported, sizes, mechanism.p, mechanism.q, alpha=alpha
        )

    def pairs(self, tally: Tally) -> PairCounts:
        """Return what any two values are compared by."""
        mechanism = self.mechanism
        law = orthogonal_points(mechanism.p, mechanism.q, mechanism.field, mechanism.dimension)
        return PairCounts(self.supports(tally.counts[0]), law)

    @staticmethod
    def decode_cost() -> str:
        """Return how the work of an estimate grows."""
        return "k log k"

    def supports(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 (k,): how many of the reports are orthogonal to each value's point.

        `points` int64 (K,) says how often each point came.
        """
        sums = orthogonal_sums(points, self.mechanism.field, self.mechanism.dimension)
        return sums[: len(self.mechanism.values)]

    @staticmethod
    def plan_fields(build: Callable[[Mapping[str, int]], Mechanism], k: int) -> dict[str, int]:
        """Return the field that fixes what a registry may leave open, whatever the number of
        values.

        `build` makes the mechanism with further fields.
        """
        return {"field": Pgr.of(build({})).field}
