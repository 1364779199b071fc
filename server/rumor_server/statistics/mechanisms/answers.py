"""From a metric's payloads to a tally and from its tally to an answer, whatever the mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Answer
from rumor_server.statistics.estimation.grouping import Groups
from rumor_server.statistics.estimation.pair_support import PairCounts
from rumor_server.statistics.mechanisms.table import estimator
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric


def tally_of(metric: Metric, payloads: Sequence[bytes]) -> NDArray[np.int64]:
    """Return int64 (cells,): the sum of the increments of one cohort's checked payloads."""
    return estimator(metric).tally(payloads)


def estimate_metric(
    metric: Metric,
    tally: Tally,
    candidates: Sequence[str] | None = None,
    *,
    alpha: float = 0.05,
    repeats: int = 1,
) -> Answer:
    """Estimate how common each value of `metric` is among the reports of `tally`.

    `candidates` are the texts to look for in an open domain; None there gives no rows. A closed
    domain has rows for all its values and takes no candidates. `repeats` bounds how many of the
    reports one device made: answers that are memoised carry the same noise each time, so a tally of
    several days is less exact than its n.

    Raises ValueError for a tally of another shape, candidates of a closed domain, an alpha outside
    (0, 1) and `repeats` below 1.
    """
    _check(metric, tally, repeats)
    if candidates is not None and metric.mechanism.values is not None:
        raise ValueError(f"candidates: metric {metric.name!r} has a closed domain; leave them out")
    alike = repeats if metric.mechanism.memoised else 1
    answer = estimator(metric).estimate(tally, candidates, alpha=alpha, repeats=alike)
    return _known_beforehand(answer, metric)


def group(
    metric: Metric, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
) -> Answer:
    """Estimate the summed share of each named group of values, one row a group.

    Groups may overlap; `repeats` as in `estimate_metric`. Raises GroupError for a group that can't
    be summed, ValueError as `estimate_metric` and for an open domain.
    """
    _check(metric, tally, repeats)
    if metric.mechanism.values is None:
        raise ValueError(
            f"groups: metric {metric.name!r} has an open domain; values of closed ones are summed"
        )
    alike = repeats if metric.mechanism.memoised else 1
    answer = estimator(metric).group(tally, groups, alpha=alpha, repeats=alike)
    return _known_beforehand(answer, metric)


def pairs_of(metric: Metric, tally: Tally, *, repeats: int = 1) -> PairCounts | None:
    """Return what any two values of a closed domain are compared by, or None.

    None where reports don't support values one by one, and where a device's memoised noise may be
    in several of them: no count of reports has a known law there. Raises ValueError as
    `estimate_metric` for a tally of another shape.
    """
    _check(metric, tally, repeats)
    if metric.mechanism.memoised and repeats > 1:
        return None
    return estimator(metric).pairs(tally)


def _known_beforehand(answer: Answer, metric: Metric) -> Answer:
    """Say what the noise was known to be before any report was read."""
    n, noise, pair = answer.n, answer.noise, metric.mechanism.support()
    if not n or noise is None or pair is None:
        return answer
    p, q = pair
    beforehand = float(q * (1 - q) / (n * (p - q) ** 2))
    return replace(answer, noise=replace(noise, beforehand=beforehand))


def _check(metric: Metric, tally: Tally, repeats: int) -> None:
    if repeats < 1:
        raise ValueError("repeats: a device that reported made at least 1 report")
    expected = (metric.mechanism.cohorts, metric.mechanism.cells)
    if tally.counts.shape != expected or tally.reports.shape != expected[:1]:
        raise ValueError(
            f"tally: metric {metric.name!r} needs counts of shape {expected}, "
            f"not {tally.counts.shape}; take the tally of this revision"
        )
