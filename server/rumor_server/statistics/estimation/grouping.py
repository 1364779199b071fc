"""Sums of values ("any version of Firefox"), with the error of the sum.

To add the rows' variances would be wrong: rows of krr are dependent. The count of a whole group has
an exact law of its own, so its interval and its test are as good as a single value's.

Sums of values where a report supports many values at once (subset, hadamard, pgr).

A report that supports s values of a group has E[s] = p + (g - 1) q where the device's value is
among its g values, else g q, so the sum of the single estimates is the estimate of the sum. Its
variance is not the sum of theirs: support of one value goes with that of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.estimation.normal_estimates import estimate_normal
from rumor_server.statistics.estimation.pure import estimate_counts
from rumor_server.statistics.intervals.count_law import CountLaw, Counts
from rumor_server.statistics.intervals.significance import check_alpha
from rumor_shared.metric import Metric


def group_outputs(
    names: tuple[str, ...],
    counts: NDArray[np.int64],
    supported: NDArray[np.int64],
    sizes: NDArray[np.int64],
    p: Fraction,
    q: Fraction,
    *,
    alpha: float,
) -> Estimates:
    """Estimate the share of each group from how often each output came.

    `counts` int64 (outputs,), `supported` int64 (groups, outputs) says how many of a group's values
    an output supports, `sizes` (groups,) how many it has. The variance is the one observed among
    the reports, less what differing values add to it: the population is fixed.
    """
    check_alpha(alpha)
    n = int(counts.sum())
    if not n:
        return Estimates.empty(names, alpha)
    gap = float(p - q)
    weights = counts / n
    mean = supported @ weights
    spread = np.maximum(np.square(supported - mean[:, None]) @ weights, 0)
    frequency = (mean - sizes * float(q)) / gap
    inside = np.clip(frequency, 0, 1)
    variance = np.maximum(spread / gap**2 - inside * (1 - inside), 0) / n
    return estimate_normal(names, n, frequency, variance, np.zeros_like(variance), alpha=alpha)


Groups = Mapping[str, Sequence[str]]


class GroupError(ValueError):
    """The groups can't be summed; `group` names the one to correct."""

    def __init__(self, group: str, what: str) -> None:
        self.group = group
        super().__init__(f"groups.{group}: {what}")


def group_categories(
    metric: Metric,
    counts: Counts,
    n: int,
    p: Fraction,
    q: Fraction,
    groups: Groups,
    *,
    alpha: float,
) -> Estimates:
    """Estimate the share of each group where a report names exactly one value (krr).

    A report supports a group of g values with probability p + (g - 1) q where the device's value is
    among them, else g q: a pure protocol again. Covariances need no term of their own.
    Raises GroupError for an empty group, a value that is unknown or listed twice in one group.
    """
    sizes, sums = _sums(metric, counts, groups)
    inside = [p + (g - 1) * q for g in sizes]
    outside = [g * q for g in sizes]
    law = _law(n, [n] * len(sizes), inside, outside, p - q)
    made = _estimate(groups, law, sums, alpha)
    if not n:
        return made
    # Every report names a value: the sum over all of them is certain.
    uncertain = np.array(sizes) < len(metric.indices)
    return replace(made, std_error=made.std_error * uncertain)


def group_bits(
    metric: Metric,
    counts: Counts,
    n: int,
    p: Fraction,
    q: Fraction,
    groups: Groups,
    *,
    alpha: float,
) -> Estimates:
    """Estimate the share of each group where a report has one independent bit a value.

    The sum of a group's counts is that of g n coins, of which n F show with p and the others with
    q. Raises GroupError as `group_categories`.
    """
    law, sums = bit_sums(metric, counts, n, p, q, groups)
    return _estimate(groups, law, sums, alpha)


def bit_sums(
    metric: Metric, counts: Counts, n: int, p: Fraction, q: Fraction, groups: Groups
) -> tuple[CountLaw, Counts]:
    """Return the law of each group's count of bits, and the counts to judge by it.

    Raises GroupError as `group_categories`.
    """
    if p < q:
        p, q, counts = 1 - p, 1 - q, n - counts
    sizes, sums = _sums(metric, counts, groups)
    law = _law(n, [g * n for g in sizes], [p] * len(sizes), [q] * len(sizes), p - q)
    return law, sums


def group_members(metric: Metric, groups: Groups) -> Mapping[str, NDArray[np.int64]]:
    """Return the indices of each group's values.

    Raises GroupError for an empty group, a value that is unknown or listed twice in one group.
    """
    members = {}
    for name, values in groups.items():
        if not values:
            raise GroupError(name, "is empty; list the values to sum")
        if len(set(values)) != len(values):
            raise GroupError(name, "lists a value twice; list it once")
        if any(value not in metric.indices for value in values):
            raise GroupError(name, f"lists a value that metric {metric.name!r} has not; remove it")
        members[name] = np.array([metric.indices[value] for value in values], dtype=np.int64)
    return members


def _sums(metric: Metric, counts: Counts, groups: Groups) -> tuple[list[int], Counts]:
    members = group_members(metric, groups)
    sums = [int(counts[rows].sum()) for rows in members.values()]
    return [len(rows) for rows in members.values()], np.array(sums, dtype=np.int64)


def _law(
    n: int, trials: list[int], p: list[Fraction], q: list[Fraction], gap: Fraction
) -> CountLaw:
    return CountLaw(
        n,
        np.array(trials, dtype=np.int64),
        np.array([float(x) for x in p]),
        np.array([float(x) for x in q]),
        np.full(len(trials), float(gap)),
    )


def _estimate(groups: Groups, law: CountLaw, sums: Counts, alpha: float) -> Estimates:
    check_alpha(alpha)
    names = tuple(groups)
    if not law.n:
        return Estimates.empty(names, alpha)
    return estimate_counts(names, law, sums, alpha=alpha)
