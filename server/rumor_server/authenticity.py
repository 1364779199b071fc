"""Do the counted reports look like perturbed answers at all, and what could fakes have done?

Whoever may send reports may send invented ones: under local differential privacy nobody can tell a
made-up answer from a perturbed one. Two things can be said all the same. An honest crowd's tallies
obey laws that no population can break, and a careless forger's do not. And a share of fakes can
shift a frequency by so much and no more (Cao, Jia, Gong 2021, maximal gain attack; Cheu, Smith,
Ullman 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from math import ceil, sqrt

import numpy as np
from scipy.special import chdtrc, ndtr

from rumor_server.binomial_tail import above, at_most
from rumor_server.report_shapes import ShapeCounts
from rumor_server.tally import Tally
from rumor_server.weight_law import bits_of, weight_law
from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.mechanisms.cms import CountMeanSketch
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.mechanisms.local_hashing import LocalHashing
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.probability import as_fraction

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
    mechanism: Mechanism, tally: Tally, shapes: ShapeCounts, repeats: int
) -> list[Check]:
    """Return what can be checked of a mechanism's tally and its reports' shapes; none at n = 0.

    `repeats` bounds the reports of one device where answers are memoised: such reports come in
    clusters that are alike, so n reports say no more than n / repeats.
    """
    if not tally.n:
        return []
    alike = repeats if mechanism.memoised else 1
    found = [
        _light_and_heavy(mechanism, shapes, alike),
        _mean_weight(mechanism, tally, alike),
        _cohorts(tally, alike),
        *_cells(mechanism, tally, alike),
    ]
    return [check for check in found if check is not None]


def fake_shift(mechanism: Mechanism, share: float) -> FakeShift:
    """Return the shift that a share of fakes can cause; both bounds are positive.

    A report moves a frequency by -q/(p - q) to (1 - q)/(p - q) where it supports the value with p
    or q, and takes the place of an honest one that brings 0 to 1 on average. For sketches over open
    domains it is the bound of one bit or cell, which a decode can only lower.
    """
    p, q = (float(one) for one in support(mechanism))
    if p < q:
        p, q = 1 - p, 1 - q
    return FakeShift(share, share * (1 - q) / (p - q), share * p / (p - q))


@singledispatch
def support(mechanism: Mechanism) -> tuple[Fraction, Fraction]:
    """Return (p, q): how likely a report supports its own value, and any other one."""
    p: Fraction = mechanism.p  # type: ignore[attr-defined]
    q: Fraction = mechanism.q  # type: ignore[attr-defined]
    return p, q


@support.register
def _(mechanism: Binary) -> tuple[Fraction, Fraction]:
    return as_fraction(mechanism.keep), 1 - as_fraction(mechanism.keep)


@support.register
def _(mechanism: Rappor) -> tuple[Fraction, Fraction]:
    return mechanism.q_star, mechanism.p_star


@support.register
def _(mechanism: CountMeanSketch) -> tuple[Fraction, Fraction]:
    return mechanism.p, Fraction(1, 2) if mechanism.hadamard else 1 - mechanism.p


@support.register
def _(mechanism: LocalHashing) -> tuple[Fraction, Fraction]:
    return mechanism.p, Fraction(1, mechanism.hash_range)


def _light_and_heavy(mechanism: Mechanism, shapes: ShapeCounts, alike: int) -> Check | None:
    law = weight_law(mechanism)
    if law is None or not shapes.reports:
        return None
    groups = ceil(shapes.reports / alike)
    tails = [
        float(above(ceil(odd / alike) - 1, groups, rate))
        for odd, rate in ((shapes.light, law.light_rate), (shapes.heavy, law.heavy_rate))
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
    bits = bits_of(mechanism)
    if bits is not None:
        high, low = max(bits.p1, bits.p0), min(bits.p1, bits.p0)
    elif isinstance(mechanism, Krr):
        high, low = float(mechanism.p), float(mechanism.q)
    else:
        return []
    reports = np.ceil(tally.reports / alike)[:, None]
    too_few = at_most(np.ceil(tally.counts / alike), reports, low).min()
    too_many = above(np.floor(tally.counts / alike) - 1, reports, high).min()
    cells = tally.counts.size
    return [
        Check("too_few_in_a_cell", min(1.0, float(too_few) * cells)),
        Check("too_many_in_a_cell", min(1.0, float(too_many) * cells)),
    ]
