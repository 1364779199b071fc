"""From a metric and its tally to estimates, whatever the mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.grouping import Groups
from rumor_server.statistics.estimation.support import support
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanism import mechanism_module
from rumor_shared.metric import Metric


def estimate_metric(
    metric: Metric,
    tally: Tally,
    candidates: Sequence[str] | None = None,
    *,
    alpha: float = 0.05,
    repeats: int = 1,
) -> Estimates:
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
    module = mechanism_module("rumor_server.statistics", metric.mechanism.name)
    bound = {"repeats": repeats} if metric.mechanism.memoised else {}
    estimates: Estimates = module.estimate(metric, tally, candidates, alpha=alpha, **bound)
    return _known_beforehand(estimates, metric)


def group(
    metric: Metric, tally: Tally, groups: Groups, *, alpha: float = 0.05, repeats: int = 1
) -> Estimates:
    """Estimate the summed share of each named group of values, one row a group.

    Groups may overlap; `repeats` as in `estimate_metric`. Raises GroupError for a
    group that can't be summed, ValueError as `estimate_metric` and for an open domain.
    """
    _check(metric, tally, repeats)
    if metric.mechanism.values is None:
        raise ValueError(
            f"groups: metric {metric.name!r} has an open domain; values of closed ones are summed"
        )
    module = mechanism_module("rumor_server.statistics", metric.mechanism.name)
    bound = {"repeats": repeats} if metric.mechanism.memoised else {}
    estimates: Estimates = module.group(metric, tally, groups, alpha=alpha, **bound)
    return _known_beforehand(estimates, metric)


def _known_beforehand(estimates: Estimates, metric: Metric) -> Estimates:
    """Say what the noise was known to be before any report was read."""
    n, noise = estimates.n, estimates.noise
    if not n or noise is None:
        return estimates
    p, q = support(metric.mechanism)
    beforehand = float(q * (1 - q) / (n * (p - q) ** 2))
    return replace(estimates, noise=replace(noise, beforehand=beforehand))


def _check(metric: Metric, tally: Tally, repeats: int) -> None:
    if repeats < 1:
        raise ValueError("repeats: a device that reported made at least 1 report")
    expected = (metric.mechanism.cohorts, metric.mechanism.cells)
    if tally.counts.shape != expected or tally.reports.shape != expected[:1]:
        raise ValueError(
            f"tally: metric {metric.name!r} needs counts of shape {expected}, "
            f"not {tally.counts.shape}; take the tally of this revision"
        )
