"""k-ary randomized response: how often each answer came, debiased."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups, group_categories
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.metric import Metric


def tally(mechanism: Krr, payloads: Sequence[bytes]) -> NDArray[np.int64]:
    """Return int64 (k,): how often each answer came among the checked payloads."""
    octets = np.frombuffer(b"".join(payloads), dtype=np.uint8)
    digits = octets.reshape(-1, mechanism.payload_bytes).astype(np.int64)
    places = np.int64(256) ** np.arange(mechanism.payload_bytes, dtype=np.int64)
    return np.bincount(digits @ places, minlength=mechanism.cells).astype(np.int64, copy=False)


def estimate(
    metric: Metric, tally: Tally, candidates: Sequence[str] | None = None, *, alpha: float = 0.05
) -> Estimates:
    """Estimate the share of each value; the raw signed shares add up to 1."""
    mechanism = cast(Krr, metric.mechanism)
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


def group(metric: Metric, tally: Tally, groups: Groups, *, alpha: float = 0.05) -> Estimates:
    """Estimate the summed share of each group of values."""
    mechanism = cast(Krr, metric.mechanism)
    return group_categories(
        metric, tally.counts[0], tally.n, mechanism.p, mechanism.q, groups, alpha=alpha
    )


def cell_chances(mechanism: Krr) -> tuple[Fraction, Fraction]:
    """Return P[an answer comes] where nobody has it and where everyone does."""
    return mechanism.q, mechanism.p
