"""Estimates from hashed cells by cohort, whatever the mechanism (local_hashing, cms, hcms).

A closed domain of moderate size is solved by `cohort_regression`; a large one, and candidates of an
open domain, by the sketch decoder, which never writes out what it does not need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from rumor_server.statistics.cohorts.candidate_hashing import (
    Candidates,
    hash_candidates,
    positions,
    salts,
)
from rumor_server.statistics.cohorts.cohort_regression import CohortTally, Regression, regress
from rumor_server.statistics.cohorts.hash_table import MAX_ENTRIES, hash_table
from rumor_server.statistics.decoding import DecodedSketch, decode_sketch
from rumor_server.statistics.decoding.decode import decoded_estimates
from rumor_server.statistics.estimates import Estimates, Floats
from rumor_server.statistics.estimation.grouping import Groups, group_members
from rumor_server.statistics.estimation.normal_estimates import estimate_normal
from rumor_server.statistics.estimation.pure import SMALL_COUNT
from rumor_server.statistics.intervals.count_law import CountLaw
from rumor_server.statistics.intervals.exact_interval import exact_interval
from rumor_server.statistics.intervals.significance import bonferroni, check_alpha
from rumor_shared.metric import Metric

# The covariance of this many values takes 32 MiB, and a second to work out.
_DENSE_VALUES = 2048
# A count that is whole but for this is whole.
_ROUNDING = 1e-6


def estimate_cohorts(
    metric: Metric, tally: CohortTally, candidates: Sequence[str] | None, *, alpha: float
) -> Estimates:
    """Estimate the share of each value of a closed domain, or of each candidate of an open one.

    A candidate given twice has one row; no candidates give no rows. Raises CandidateError for one
    that no device could have recorded, ValueError for an alpha outside (0, 1).
    """
    check_alpha(alpha)
    values = metric.mechanism.values
    if values is None:
        return _decode(metric, tally, candidates or (), alpha)
    if not tally.n:
        return Estimates.empty(values, alpha)
    fit = _regression(metric, tally, values)
    if fit is None:
        return _decode(metric, tally, values, alpha)
    absent, slope = _variance(tally, fit)
    made = estimate_normal(
        values,
        tally.n,
        fit.shares,
        absent,
        slope,
        alpha=alpha,
        p_value=_p_value(tally, fit.shares, absent),
    )
    return _of_few_reports(tally, made, absent)


def _of_few_reports(tally: CohortTally, made: Estimates, absent: Floats) -> Estimates:
    """Return the estimates with bounds and p-values of a count's exact law, if reports are few.

    The estimate of a share is a debiased count of reports in the value's cells, a little noisier:
    as if of fewer reports, and with part of a count, which is read outwards. Where a cell is rarely
    hit by chance, one such hit is no sign of a value, which a normal law takes it for.
    """
    q, gap = tally.rate, tally.gap
    trials = int(q * (1 - q) / (gap**2 * float(absent.max())))
    if trials < 1 or trials * min(q, 1 - q) >= SMALL_COUNT:
        return made
    one = np.ones(len(made.values))
    every = np.full(len(made.values), trials)
    law = CountLaw(trials, every, one * tally.p1, one * q, one * gap)
    count = trials * (q + gap * made.frequency)
    below, above = (
        np.clip(rounded, 0, trials).astype(np.int64)
        for rounded in (np.floor(count + _ROUNDING), np.ceil(count - _ROUNDING))
    )
    bounds = []
    for alpha in (made.alpha, made.alpha / len(made.values)):
        bounds.append(np.minimum(exact_interval(law, below, alpha)[0], made.frequency))
        bounds.append(np.maximum(exact_interval(law, above, alpha)[1], made.frequency))
    p_value = law.p_value(below)
    return replace(
        made,
        low=bounds[0],
        high=bounds[1],
        simultaneous_low=bounds[2],
        simultaneous_high=bounds[3],
        p_value=p_value,
        significant=bonferroni(p_value, made.alpha),
    )


def group_cohorts(metric: Metric, tally: CohortTally, groups: Groups, *, alpha: float) -> Estimates:
    """Estimate the summed share of each group of values of a closed domain.

    The error is that of the sum, covariances included, where the domain is of moderate size. A
    larger one is decoded, and the errors of its values are added as if independent: the hashes of
    two values make their estimates agree or disagree by chance, so that what they have in common
    cancels out but for a part of 1/sqrt(cohorts cells). Values that own the same cells everywhere
    show the share of them all, which counts once. Raises GroupError as `group_members`.
    """
    check_alpha(alpha)
    members = group_members(metric, groups)
    values = metric.mechanism.values or ()
    if not tally.n:
        return Estimates.empty(tuple(members), alpha)
    fit = _regression(metric, tally, values)
    if fit is not None:
        rows = list(members.values())
        frequency = np.array([fit.shares[own].sum() for own in rows])
        variance = np.array([_variance_of_sum(tally, fit, own) for own in rows])
    else:
        decoded = _decoded(metric, tally, hash_candidates(values), alpha)
        rows = [np.unique(decoded.same_as[own]) for own in members.values()]
        frequency = np.array([decoded.estimate[own].sum() for own in rows])
        variance = np.array([np.square(decoded.std_error[own]).sum() for own in rows])
    return estimate_normal(
        tuple(members),
        tally.n,
        frequency,
        variance,
        np.zeros_like(variance),
        alpha=alpha,
    )


def _regression(metric: Metric, tally: CohortTally, values: tuple[str, ...]) -> Regression | None:
    cohorts, cells = tally.counts.shape
    if len(values) > _DENSE_VALUES or len(values) * cohorts > MAX_ENTRIES:
        return None
    return regress(tally, hash_table(metric.key, cohorts, cells, values))


def _variance(tally: CohortTally, fit: Regression) -> tuple[Floats, Floats]:
    """Return a, b of the variance a + b f of each share at the truth f, for a fixed population.

    The slope is that of a hash drawn anew: a report of a device with the value shows its cell with
    p1 instead of the common rate.
    """
    own = tally.p1 * (1 - tally.p1) - tally.rate * (1 - tally.rate)
    slope = np.full(len(fit.shares), own / (tally.n * tally.gap**2))
    least = tally.least_variance
    at_pilot = np.maximum(fit.variance - fit.pilot * (1 - fit.pilot), least) / tally.n
    return np.maximum(at_pilot - slope * fit.pilot, least / tally.n), slope


def _variance_of_sum(tally: CohortTally, fit: Regression, rows: NDArray[np.int64]) -> float:
    """Return the variance of a group's share at the pilot, for a fixed population."""
    share = float(fit.pilot[rows].sum())
    variance = fit.variance_of_sum(rows) - share * (1 - share)
    return max(variance, tally.least_variance) / tally.n


def _p_value(tally: CohortTally, shares: Floats, absent: Floats) -> Floats:
    """Return the upper tail at f = 0 of the binomial with the same mean, variance and rate.

    The estimate of an absent value is a debiased count of reports in its cells, a little noisier:
    as if of fewer reports. A tail read half a count lower splits the atom of its own count.
    """
    q, gap = tally.rate, tally.gap
    trials = q * (1 - q) / (gap**2 * np.maximum(absent, np.finfo(np.float64).tiny))
    count = np.clip(trials * (q + gap * shares), 0, trials)
    return np.asarray(betainc(count + 0.5, trials - count + 0.5, q), dtype=np.float64)


def _decode(metric: Metric, tally: CohortTally, texts: Sequence[str], alpha: float) -> Estimates:
    known = hash_candidates(texts)
    if not known.texts:
        return Estimates.empty((), alpha, n=tally.n)
    decoded = _decoded(metric, tally, known, alpha) if tally.n else None
    return decoded_estimates(
        known.texts, tally.n, alpha, decoded, closed=metric.mechanism.values is not None
    )


def _decoded(metric: Metric, tally: CohortTally, known: Candidates, alpha: float) -> DecodedSketch:
    salted = salts(metric.key, len(tally.reports), 1)

    def cells(start: int, stop: int) -> NDArray[np.int64]:
        part = slice(start, stop)
        return positions(known.first[part], known.second[part], salted, tally.cells)

    found = decode_sketch(
        tally.counts,
        tally.reports,
        tally.p1,
        tally.p0,
        cells,
        len(known.texts),
        hashes=1,
        law=tally.law,
        alpha=alpha,
        correction="bonferroni",
    )
    if found is None:
        raise ValueError("a tally without reports can't be decoded")
    return found
