"""Post-stratification: shares of a population of known make-up from segments that report unevenly.

With W_h the known part of stratum h and f_h its share,

    F = sum W_h f_h,      Var F = sum W_h^2 V_h      given the numbers n_h of reports

(Holt, Smith 1979). The stratum's devices stand for others, so V_h holds their draw as well as the
perturbation. It mends what the strata explain; within a stratum those who report must be as those
who don't.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.intervals.count_law import Counts
from rumor_server.statistics.intervals.significance import check_alpha, quantile


class WeightingError(ValueError):
    """The strata can't be weighted; `stratum` is the place of the one to correct."""

    def __init__(self, stratum: int, what: str) -> None:
        self.stratum = stratum
        super().__init__(f"strata.{stratum}: {what}")


@dataclass(frozen=True, eq=False)
class Weighted:
    """Shares of the population, an entry a value; `weights` (strata,) are those that were used.

    A stratum without reports has weight 0, and the one that it joins has its part.
    """

    weights: Floats
    frequency: Floats
    std_error: Floats
    low: Floats
    high: Floats
    simultaneous_low: Floats
    simultaneous_high: Floats


def weigh_counts(
    counts: Counts,
    reports: Counts,
    p: Fraction,
    q: Fraction,
    population: Sequence[float],
    *,
    alpha: float,
    joins: Mapping[int, int] | None = None,
) -> Weighted:
    """Estimate a population of which stratum h makes up population[h] (any unit), from supports.

    `counts` (strata, k) of `reports` (strata,) made with the same p and q. `joins` is the rule for
    strata without reports, declared before they were seen: the stratum named there takes over the
    weight. An empty stratum without a rule is refused, since leaving it out would say that it is
    like the rest. Bounds are recovered from Wilson's of each stratum's support rate (Zou, Donner
    2008), whose asymmetry they keep: they serve for few reports too.

    Raises WeightingError for sizes that are not positive, an empty stratum without a rule or whose
    rule leads nowhere; ValueError for an alpha outside (0, 1) and lists of unlike length.
    """
    check_alpha(alpha)
    weights = stratum_weights(reports.tolist(), population, joins or {})
    kept = weights > 0
    if p < q:
        p, q, counts = 1 - p, 1 - q, reports[:, None] - counts
    gap, n = float(p - q), reports[kept, None]
    rates, parts = counts[kept] / n, weights[kept, None] / gap
    frequency = (parts * (rates - float(q))).sum(axis=0)
    variance = (parts**2 * rates * (1 - rates) / n).sum(axis=0)
    bounds = []
    for comparisons in (1, counts.shape[1]):
        z = quantile(alpha, comparisons)
        middle = (rates + z * z / (2 * n)) / (1 + z * z / n)
        half = z * np.sqrt(rates * (1 - rates) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
        down, up = parts * (rates - middle + half), parts * (middle + half - rates)
        bounds.append(frequency - np.sqrt(np.square(down).sum(axis=0)))
        bounds.append(frequency + np.sqrt(np.square(up).sum(axis=0)))
    return Weighted(weights, frequency, np.sqrt(variance), *bounds)


def weigh_shares(
    shares: Floats,
    variances: Floats,
    reports: Counts,
    population: Sequence[float],
    *,
    alpha: float,
    joins: Mapping[int, int] | None = None,
) -> Weighted:
    """Estimate a population as `weigh_counts` from shares and variances, (strata, k): normal.

    For regressions, and strata whose p and q differ. The variances hold the draw of the devices,
    f (1 - f) / n_h, beside the perturbation. Rows of strata without reports are ignored.
    """
    check_alpha(alpha)
    weights = stratum_weights(reports.tolist(), population, joins or {})
    kept = weights > 0
    parts = weights[kept, None]
    frequency = (parts * shares[kept]).sum(axis=0)
    std_error = np.sqrt((parts**2 * variances[kept]).sum(axis=0))
    one, all_ = (quantile(alpha, comparisons) * std_error for comparisons in (1, shares.shape[1]))
    return Weighted(
        weights,
        frequency,
        std_error,
        frequency - one,
        frequency + one,
        frequency - all_,
        frequency + all_,
    )


def stratum_weights(
    reports: Sequence[int], population: Sequence[float], joins: Mapping[int, int]
) -> Floats:
    """Return W_h of each stratum, 0 for those without reports, whose part goes where `joins` says.

    Raises as `weigh_counts`.
    """
    if not reports or len(reports) != len(population):
        raise ValueError("population: needs one size a stratum, and at least one stratum")
    for place, size in enumerate(population):
        if not 0 < size < float("inf"):
            raise WeightingError(place, "its part of the population is not a positive number")
    weights = np.zeros(len(reports))
    for place, size in enumerate(population):
        weights[_holder(place, reports, joins)] += size / sum(population)
    return weights


def _holder(place: int, reports: Sequence[int], joins: Mapping[int, int]) -> int:
    seen: set[int] = set()
    at = place
    while not reports[at]:
        seen.add(at)
        if at not in joins:
            raise WeightingError(place, "has no report; declare which stratum it joins if empty")
        at = joins[at]
        if at in seen or not 0 <= at < len(reports):
            raise WeightingError(place, "joins no stratum that has reports; correct the rule")
    return at
