"""The base class of every room's part of a mechanism: a metric, and its mechanism by its class."""

from __future__ import annotations

from typing import Generic, TypeVar

from rumor_shared.mechanism import Mechanism
from rumor_shared.metric import Metric

M = TypeVar("M", bound=Mechanism)


class Part(Generic[M]):
    """One room's part of a mechanism, for one metric.

    A subclass says in `takes` whose parameters it works with. Raises TypeError for a metric of
    another mechanism.
    """

    takes: type[M]

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.mechanism = self.takes.of(metric.mechanism)
