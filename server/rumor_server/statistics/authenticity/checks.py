"""Do the counted reports look like perturbed answers at all, and what could fakes have done?

Whoever may send reports may send invented ones: under local differential privacy nobody can tell a
made-up answer from a perturbed one. Two things can be said all the same. An honest crowd's tallies
obey laws that no population can break, and a careless forger's do not. And a share of fakes can
shift a frequency by so much and no more (Cao, Jia, Gong 2021, maximal gain attack; Cheu, Smith,
Ullman 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from scipy.special import chdtrc, ndtr

from rumor_server.statistics.authenticity.report_weights import WeightCounts
from rumor_server.statistics.authenticity.weight_law import weight_law
from rumor_server.statistics.intervals.significance import above, at_most
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanism import Mechanism

# An honest crowd fails a check once in a million; several checks, several times that.
SUSPICIOUS = 1e-6
# A chi-square needs some expected reports in each cohort; below, it isn't tested.
_LEAST_EXPECTED = 10


@dataclass(frozen=True)
class Check:
    """One law that an honest crowd obeys: how likely it is to look at least as odd as this."""

    name: str
    p_value: float

    @property
    def suspicious(self) -> bool:
        """Whether no honest crowd would look like this."""
        return self.p_value < SUSPICIOUS


@dataclass(frozen=True)
class FakeShift:
    """How far a `share` of fakes among the reports can move any one frequency up or down."""

    share: float
    up: float
    down: float


def check_crowd(
    mechanism: Mechanism, tally: Tally, weights: WeightCounts, repeats: int
) -> list[Check]:
    """Return what can be checked of a mechanism's tally and its reports' weights; none at n = 0.

    `repeats` bounds the reports of one device where answers are memoised: such reports come in
    clusters that are alike, so n reports say no more than n / repeats.
    """
    if not tally.n:
        return []
    alike = repeats if mechanism.memoised else 1
    found = [
        _light_and_heavy(mechanism, weights, alike),
        _mean_weight(mechanism, tally, alike),
        _cohorts(tally, alike),
        *_cells(mechanism, tally, alike),
    ]
    return [check for check in found if check is not None]


def fake_shift(mechanism: Mechanism, share: float) -> FakeShift:
    """Return the shift that a share of fakes can cause; both bounds are positive.

    A report moves a frequency by -q/(p - q) to (1 - q)/(p - q) where it supports the value with p
    or q, and takes the place of an honest one that brings 0 to 1 on average. Where a regression
    decodes, it is the bound of one bit or cell, and the regression may give some cells more weight:
    with 64 cohorts for 64 values, fakes in one cell of local hashing went 1.3 times as far.
    """
    pair = mechanism.support()
    if pair is None:
        # Nothing is known of what one report moves: all of the scale.
        return FakeShift(share, 1.0, 1.0)
    p, q = (float(one) for one in pair)
    if p < q:
        p, q = 1 - p, 1 - q
    return FakeShift(share, share * (1 - q) / (p - q), share * p / (p - q))


def _light_and_heavy(mechanism: Mechanism, weights: WeightCounts, alike: int) -> Check | None:
    law = weight_law(mechanism)
    if law is None or not weights.reports:
        return None
    groups = ceil(weights.reports / alike)
    tails = [
        float(above(ceil(odd / alike) - 1, groups, rate))
        for odd, rate in ((weights.light, law.light_rate), (weights.heavy, law.heavy_rate))
    ]
    return Check("odd_weights", min(1.0, 2 * min(tails)))


def _mean_weight(mechanism: Mechanism, tally: Tally, alike: int) -> Check | None:
    law = weight_law(mechanism)
    if law is None:
        return None
    mean = float(tally.counts.sum()) / tally.n
    outside = max(law.mean_low - mean, mean - law.mean_high, 0.0)
    # `alike` reports of one device have at most `alike` times the variance of as many independent.
    error = sqrt(law.variance * alike / tally.n)
    return Check("mean_weight", min(1.0, 2 * float(ndtr(-outside / error))))


def _cohorts(tally: Tally, alike: int) -> Check | None:
    cohorts = len(tally.reports)
    expected = tally.n / cohorts
    if cohorts == 1 or expected / alike < _LEAST_EXPECTED:
        return None
    statistic = float(((tally.reports - expected) ** 2).sum() / expected) / alike
    return Check("cohorts", float(chdtrc(cohorts - 1, statistic)))


def _cells(mechanism: Mechanism, tally: Tally, alike: int) -> list[Check]:
    """Check that no cell came more often than if everyone had its value, or less than if nobody."""
    chances = mechanism.cell_chances()
    if chances is None:
        return []
    low, high = chances
    reports = np.ceil(tally.reports / alike)[:, None]
    too_few = at_most(np.ceil(tally.counts / alike), reports, low).min()
    too_many = above(np.floor(tally.counts / alike) - 1, reports, high).min()
    cells = tally.counts.size
    return [
        Check("too_few_in_a_cell", min(1.0, float(too_few) * cells)),
        Check("too_many_in_a_cell", min(1.0, float(too_many) * cells)),
    ]
