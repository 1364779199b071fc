"""Confidence sequences: intervals that hold on every day at once, however often one looks.

An ordinary interval holds the truth on 95 of 100 single looks; whoever looks at each of 90 days and
acts on the first surprise is wrong far more often. A confidence sequence holds the truth on *all*
days together with probability 1 - alpha (Robbins 1970; Howard, Ramdas, McAuliffe, Sekhon 2021).

Let C_N of the first N reports support a value, each report independently with a rate of its own,
q + (p - q) f_i, of mean pi over the N. For every fixed step l, exp(l C_N - sum log(1 + pi_i (e^l -
1))) is a martingale of mean 1, and since the logarithm is concave, N log(1 + pi (e^l - 1)) is no
less than that sum. So, with weights w_j that add up to 1 and steps l_j of both signs fixed before a
report was seen, Ville's inequality gives

    P[some N: sum_j w_j exp(l_j C_N - N log(1 + pi (e^{l_j} - 1))) >= k / alpha] <= alpha / k

for each of k values. The rates not excluded are an interval, since each term is convex in pi. It
holds the *running mean* of the shares under any drift. It speaks of the devices that reported, not
of a population they were drawn from, and needs fresh noise in every report: a permanent answer
comes again, and its error with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.intervals.count_law import Counts
from rumor_server.statistics.intervals.significance import check_alpha

# Steps cover so many times the reports of the first day; beyond it intervals stay valid and widen
# slowly. A year of equal days is 365; 400 leaves room for growth at a cost of 2% in width.
_HORIZON = 400
# Neighbouring steps differ by this factor. From 1.4 to 2.0 the widths differ by less than 1%.
_RATIO = 1.6
# After so many halvings Newton's steps, which end on the side that is excluded, double the digits.
_HALVINGS = 12
_NEWTON_STEPS = 6


@dataclass(frozen=True, eq=False)
class Mixture:
    """What is fixed before the data: steps l_j of both signs, logarithms of weights, k, alpha."""

    steps: Floats
    log_weights: Floats
    values: int
    alpha: float


def mixture(first_reports: int, p: Fraction, q: Fraction, values: int, alpha: float) -> Mixture:
    """Return steps for a watch that begins with `first_reports` reports of `values` values.

    The best step for N reports of variance v is about sqrt(2 ln(2 k / alpha) / (N v)). The steps
    go from the best for the first look at a value that nobody has to the best for `_HORIZON` times
    as many reports of the greatest variance, by a constant factor, with equal weights. Only the
    *number* of the first day's reports enters, never what they say.
    """
    check_alpha(alpha)
    if first_reports < 1:
        raise ValueError("first_reports: is less than 1; begin with the first day that has one")
    low, high = float(min(p, q)), float(max(p, q))
    ends = low * (1 - low), high * (1 - high)
    greatest = 0.25 if low <= 0.5 <= high else max(ends)
    bound = np.log(2 * values / alpha)
    spread = first_reports * min(ends)
    # Far from the normal range a count of mean v reaches v + d where the best step is log(1 + d/v).
    longest = np.log1p(np.sqrt(2 * bound / spread) + bound / (3 * spread))
    shortest = min(longest, np.sqrt(2 * bound / (first_reports * _HORIZON * greatest)))
    number = 1 + int(np.ceil(np.log(longest / shortest) / np.log(_RATIO)))
    sizes = np.geomspace(shortest, longest, number)
    steps = np.concatenate([sizes, -sizes])
    return Mixture(steps, np.full(steps.shape, -np.log(len(steps))), values, alpha)


def confidence_sequence(
    counts: Counts, n: Counts | int, p: Fraction, q: Fraction, fixed: Mixture
) -> tuple[Floats, Floats]:
    """Return bounds of the values' shares over the first n reports; see the module.

    `counts` is int64 (m,), how many of the n reports support each of m values, all or some of
    those that the mixture is for; or (days, m) with n (days, 1). The mixture is the same on every
    day. Bounds lie in [0, 1]. Raises ValueError for n = 0.
    """
    total, count = np.asarray(n, dtype=np.float64), counts.astype(np.float64)
    if not total.all():
        raise ValueError("n: is 0; there is no interval before the first report")
    if p < q:
        p, q, count = 1 - p, 1 - q, total - count
    low, high = (_last_kept(count, total, fixed, end) for end in (0.0, 1.0))
    bounds = ((edge - float(q)) / float(p - q) for edge in (low, high))
    below, above = (np.clip(bound, 0.0, 1.0) for bound in bounds)
    return below, above


def _last_kept(count: Floats, n: Floats, fixed: Mixture, end: float) -> Floats:
    """Return the rate towards `end` where exclusion begins, or the end: (days, k).

    The evidence is convex in the rate, so Newton's steps from an excluded rate never pass the root.
    """
    least = np.log(fixed.values / fixed.alpha)
    kept, out = count / n, np.full(count.shape, end)
    for _ in range(_HALVINGS):
        middle = (kept + out) / 2
        excluded = _evidence(count, n, fixed, middle)[0] >= least
        out = np.where(excluded, middle, out)
        kept = np.where(excluded, kept, middle)
    for _ in range(_NEWTON_STEPS):
        height, slope = _evidence(count, n, fixed, out)
        above = height > least
        step = np.divide(least - height, slope, out=np.zeros_like(out), where=above)
        out = out + step
    return out


def _evidence(count: Floats, n: Floats, fixed: Mixture, rate: Floats) -> tuple[Floats, Floats]:
    """Return the logarithm of the mixture against each rate, and its slope; (days, k)."""
    lift = np.expm1(fixed.steps)
    odds = rate[..., None] * lift
    terms = fixed.log_weights + fixed.steps * count[..., None] - n[..., None] * np.log1p(odds)
    most = terms.max(axis=-1)
    parts = np.exp(terms - most[..., None])
    total = parts.sum(axis=-1)
    slope = -n * (parts * (lift / (1 + odds))).sum(axis=-1) / total
    return most + np.log(total), slope
