"""What changed between two periods, or differs between two groups of devices.

Two questions can be asked. Did the population change that these devices are a sample of? Then the
draw of the devices counts as noise, or two samples of one population are called different (at
epsilon 8 always). Or did these very devices change? Then only the perturbation is noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from rumor_server.statistics.estimates import LEAST_ERROR, Bools, Estimates, Floats
from rumor_server.statistics.intervals.significance import bonferroni, quantile
from rumor_server.statistics.intervals.two_samples import two_sample_p_value
from rumor_server.statistics.noise import Noise


class ComparisonError(ValueError):
    """The two estimates can't be compared."""


class Of(StrEnum):
    """Whose change is asked for."""

    POPULATION = "population"
    DEVICES = "devices"


@dataclass(frozen=True, eq=False)
class Spread:
    """Standard error and interval of each share of one side."""

    std_error: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Change:
    """By how much each value's share rose from one set of reports to another; shares of 1.

    `of` says whose shares, `before` and `after` how far each side's may be. `p_value` is two-sided,
    of no change at all; `significant` passes Bonferroni at alpha.
    """

    of: Of
    values: tuple[str, ...]
    alpha: float
    before: Spread
    after: Spread
    difference: Floats
    std_error: Floats
    low: Floats
    high: Floats
    p_value: Floats
    significant: Bools


def compare(before: Estimates, after: Estimates, *, of: Of = Of.POPULATION) -> Change:
    """Estimate the change of every value's share, after less before, with its own interval.

    Two overlapping intervals do not mean "no change": the interval of the difference is narrower
    than both together. It is made from theirs by the method of variance estimates recovery (Zou,
    Donner 2008), so it keeps their asymmetry. The two sets of reports must be disjoint. The
    population's change takes every report for a draw of its own. Where the same devices answer on
    both sides, as in two weeks of one fleet, it is conservative: what is particular to them cancels
    out. So are reports with memoised answers.

    Raises ComparisonError where the values (or their order) or alpha differ, or a side is empty.
    """
    if before.values != after.values:
        raise ComparisonError("after: its values differ from those before; compare equal lists")
    if before.alpha != after.alpha:
        raise ComparisonError("after: alpha differs from the one before; use the same")
    for name, side in (("before", before), ("after", after)):
        if not side.n:
            raise ComparisonError(f"{name}: holds no report; choose a period that has some")
    old, new = spread(before, of), spread(after, of)
    difference = after.frequency - before.frequency
    std_error = np.maximum(np.hypot(old.std_error, new.std_error), LEAST_ERROR)
    down = np.hypot(after.frequency - new.low, old.high - before.frequency)
    up = np.hypot(new.high - after.frequency, before.frequency - old.low)
    p_value = (
        _population_p_value(before, after)
        if of is Of.POPULATION
        else 2 * ndtr(-np.abs(difference) / std_error)
    )
    return Change(
        of=of,
        values=after.values,
        alpha=after.alpha,
        before=old,
        after=new,
        difference=difference,
        std_error=std_error,
        low=difference - down,
        high=difference + up,
        p_value=p_value,
        significant=bonferroni(p_value, after.alpha, max(before.tests, after.tests)),
    )


def spread(estimates: Estimates, of: Of) -> Spread:
    """Return how far the shares of these devices may be, or of the population they came from."""
    if of is Of.DEVICES:
        return Spread(estimates.std_error, estimates.low, estimates.high)
    noise = _noise(estimates)
    low, high = noise.drawn_interval(estimates.frequency, quantile(estimates.alpha, 1))
    return Spread(noise.drawn_std_error(estimates.frequency), low, high)


def _population_p_value(before: Estimates, after: Estimates) -> Floats:
    """Return the two-sided p-values of one share for both sides: exact where counts are small."""
    old, new = _noise(before), _noise(after)
    if old.support and old.support == new.support:
        counts = [_supports(side, *old.support) for side in (before, after)]
        return two_sample_p_value(counts[0], before.n, counts[1], after.n)
    middle = (before.frequency + after.frequency) / 2
    weight_old, weight_new = 1 / old.drawn_variance(middle), 1 / new.drawn_variance(middle)
    pooled = (weight_old * before.frequency + weight_new * after.frequency) / (
        weight_old + weight_new
    )
    error = np.sqrt(old.drawn_variance(pooled) + new.drawn_variance(pooled))
    gap = np.abs(after.frequency - before.frequency)
    return np.asarray(2 * ndtr(-gap / np.maximum(error, LEAST_ERROR)))


def _supports(side: Estimates, p: Fraction, q: Fraction) -> Floats:
    """Return how many reports support each value, as the estimates were made from them."""
    return np.rint(side.n * (float(q) + float(p - q) * side.frequency))


def _noise(side: Estimates) -> Noise:
    if side.noise is None:
        raise ComparisonError("estimates: say nothing of their noise; estimate them from a tally")
    return side.noise
