"""Hadamard response: every value's half is summed by one fast Walsh-Hadamard transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_members
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.estimation.support_groups import group_outputs
from rumor_server.statistics.integer_tally import integer_tally
from rumor_server.statistics.tally import Tally
from rumor_server.statistics.walsh_hadamard import walsh_hadamard
from rumor_shared.mechanisms.hadamard import Hadamard
from rumor_shared.metric import Metric

DECODE_COST = "k log k"


def tally(mechanism: Hadamard, payloads: Sequence[bytes]) -> NDArray[np.int64]:
    """Return int64 (K,): how often each column came among the checked payloads."""
    return integer_tally(payloads, mechanism.payload_bytes, mechanism.cells)


def supports(mechanism: Hadamard, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64 (k,): how many of the reports are in each value's half.

    `columns` int64 (K,) says how often each column came. A half has (all + transform) / 2 of them.
    """
    rows = walsh_hadamard(columns)[1 : len(mechanism.values) + 1]
    halves: NDArray[np.int64] = (columns.sum() + rows) // 2
    return halves


def estimate(
    metric: Metric, tally: Tally, candidates: Sequence[str] | None = None, *, alpha: float = 0.05
) -> Estimates:
    """Estimate the share of each value; the shares add up to 1 only on average."""
    mechanism = cast(Hadamard, metric.mechanism)
    counts = supports(mechanism, tally.counts[0])
    return estimate_pure(mechanism.values, counts, tally.n, mechanism.p, mechanism.q, alpha=alpha)


def group(metric: Metric, tally: Tally, groups: Groups, *, alpha: float = 0.05) -> Estimates:
    """Estimate the summed share of each group of values."""
    mechanism = cast(Hadamard, metric.mechanism)
    members = group_members(metric, groups)
    chosen = np.zeros((len(members), mechanism.columns), dtype=np.int64)
    for row, indices in zip(chosen, members.values(), strict=True):
        row[indices + 1] = 1
    sizes = chosen.sum(axis=1)
    supported = (sizes[:, None] + walsh_hadamard(chosen)) // 2
    return group_outputs(
        tuple(members), tally.counts[0], supported, sizes, mechanism.p, mechanism.q, alpha=alpha
    )
