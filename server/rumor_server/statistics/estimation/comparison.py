"""What changed between two periods, or differs between two groups of devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from rumor_server.statistics.estimates import LEAST_ERROR, Bools, Estimates, Floats
from rumor_server.statistics.intervals.significance import bonferroni


class ComparisonError(ValueError):
    """The two estimates can't be compared."""


@dataclass(frozen=True, eq=False)
class Change:
    """By how much each value's share rose from one set of reports to another; shares of 1.

    `p_value` is two-sided, of no change at all; `significant` passes Bonferroni at alpha.
    """

    values: tuple[str, ...]
    alpha: float
    difference: Floats
    std_error: Floats
    low: Floats
    high: Floats
    p_value: Floats
    significant: Bools


def compare(before: Estimates, after: Estimates) -> Change:
    """Estimate the change of every value's share, after less before, with its own interval.

    Two overlapping intervals do not mean "no change": the interval of the difference is narrower
    than both together. It is made from theirs by the method of variance estimates recovery (Zou,
    Donner 2008), so it keeps their asymmetry. The two sets of reports must be disjoint. Reports of
    the same devices with memoised answers are positively correlated, which makes it conservative.

    Raises ComparisonError where the values (or their order) or alpha differ, or a side is empty.
    """
    if before.values != after.values:
        raise ComparisonError("after: its values differ from those before; compare equal lists")
    if before.alpha != after.alpha:
        raise ComparisonError("after: alpha differs from the one before; use the same")
    for name, side in (("before", before), ("after", after)):
        if not side.n:
            raise ComparisonError(f"{name}: holds no report; choose a period that has some")
    difference = after.frequency - before.frequency
    std_error = np.maximum(np.hypot(before.std_error, after.std_error), LEAST_ERROR)
    down = np.hypot(after.frequency - after.low, before.high - before.frequency)
    up = np.hypot(after.high - after.frequency, before.frequency - before.low)
    p_value = 2 * ndtr(-np.abs(difference) / std_error)
    return Change(
        values=after.values,
        alpha=after.alpha,
        difference=difference,
        std_error=std_error,
        low=difference - down,
        high=difference + up,
        p_value=p_value,
        significant=bonferroni(p_value, after.alpha),
    )
