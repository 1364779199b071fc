"""What a mechanism's part in the collector does: payloads to a tally, a tally to an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Answer
from rumor_server.statistics.estimation.grouping import Groups
from rumor_server.statistics.estimation.pair_support import PairCounts
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanism import Mechanism
from rumor_shared.metric import Metric


@runtime_checkable
class Estimator(Protocol):
    """Tallies and estimates one metric. Pure: arrays in, arrays out.

    Callers go through `rumor_server.statistics.mechanisms.answers`, which checks what they give.
    """

    def __init__(self, metric: Metric) -> None: ...

    def tally(self, payloads: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 (cells,): the sum of the increments of one cohort's checked payloads."""
        ...

    def estimate(
        self,
        tally: Tally,
        candidates: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        repeats: int = 1,
    ) -> Answer:
        """Estimate what the metric asks for from a tally of its shape.

        `candidates` are the texts to look for in an open domain. `repeats` bounds the reports of
        one device where answers are memoised, and is 1 elsewhere.
        """
        ...

    def group(
        self, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
    ) -> Answer:
        """Estimate the summed share of each group of values of a closed domain.

        `repeats` as in `estimate`.
        """
        ...

    def pairs(self, tally: Tally) -> PairCounts | None:
        """Return what any two values of a closed domain are compared by, or None.

        None where reports don't support values one by one; shares' intervals compare them there.
        """
        return None

    @staticmethod
    def decode_cost() -> str:
        """Return how the work of an estimate grows with k values, in words."""
        return "k"

    @staticmethod
    def plan_fields(build: Callable[[Mapping[str, int]], Mechanism], k: int) -> dict[str, int]:
        """Return the registry's fields that fix, for k values, what it may leave open.

        `build` makes the mechanism with further fields.
        """
        return {}
