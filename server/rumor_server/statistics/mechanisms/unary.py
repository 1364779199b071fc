"""Unary encoding: how often each value's bit was set, debiased."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.authenticity.weight_law import Bits
from rumor_server.statistics.bit_tally import bit_tally
from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_bits
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric


def tally(mechanism: Unary, payloads: Sequence[bytes]) -> NDArray[np.int64]:
    """Return int64 (k,): in how many of the checked payloads each bit is set."""
    return bit_tally(payloads, mechanism.cells)


def estimate(
    metric: Metric, tally: Tally, candidates: Sequence[str] | None = None, *, alpha: float = 0.05
) -> Estimates:
    """Estimate the share of each value; the shares add up to 1 only on average."""
    mechanism = cast(Unary, metric.mechanism)
    return estimate_pure(
        mechanism.values, tally.counts[0], tally.n, mechanism.p, mechanism.q, alpha=alpha
    )


def group(metric: Metric, tally: Tally, groups: Groups, *, alpha: float = 0.05) -> Estimates:
    """Estimate the summed share of each group of values."""
    mechanism = cast(Unary, metric.mechanism)
    return group_bits(
        metric, tally.counts[0], tally.n, mechanism.p, mechanism.q, groups, alpha=alpha
    )


def bits(mechanism: Unary) -> Bits:
    """Return the law of a report's bits: a value sets one."""
    return Bits(mechanism.cells, 1, float(mechanism.p), float(mechanism.q))
