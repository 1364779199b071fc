"""Post-stratification: shares of a population of known make-up from segments that report unevenly.

With W_h the known part of stratum h and f_h its share,

    F = sum W_h f_h,      Var F = sum W_h^2 V_h      given the numbers n_h of reports

(Holt, Smith 1979). V_h is the perturbation's variance and f_h (1 - f_h) / n_h more, since the
stratum's devices stand for others. Bounds are recovered from the strata's own (Zou, Donner 2008):
distances from the estimates, weighted, are added as squares, so that they keep their asymmetry.
It mends what the strata explain; within a stratum those who report must be as those who don't.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtr

from rumor_server.statistics.estimates import LEAST_ERROR, Estimates, Floats
from rumor_server.statistics.intervals.significance import bonferroni, quantile


class WeightingError(ValueError):
    """The strata can't be weighted; `stratum` is the place of the one to correct."""

    def __init__(self, stratum: int, what: str) -> None:
        self.stratum = stratum
        super().__init__(f"strata.{stratum}: {what}")


def post_stratify(
    strata: Sequence[Estimates],
    population: Sequence[float],
    joins: Mapping[int, int] | None = None,
) -> Estimates:
    """Estimate the shares of a population of which stratum h makes up population[h] (any unit).

    `joins` is the rule for strata without reports, declared before they were seen: the stratum
    named there takes over the weight. An empty stratum without a rule is refused, since leaving it
    out would say that it is like the rest. Estimates of disjoint reports with fresh noise.

    Raises WeightingError for sizes that are not positive, an empty stratum without a rule or whose
    rule leads nowhere, and strata whose values or alpha differ; ValueError for no strata.
    """
    weights = stratum_weights([part.n for part in strata], population, joins or {})
    first = strata[0]
    for place, part in enumerate(strata):
        if (part.values, part.alpha) != (first.values, first.alpha):
            raise WeightingError(place, "its values or alpha differ; estimate all strata alike")
    parts = [(w, part) for w, part in zip(weights, strata, strict=True) if w]
    frequency: Floats = np.sum([w * part.frequency for w, part in parts], axis=0)
    variance = np.sum([w**2 * _variance(part) for w, part in parts], axis=0)
    std_error = np.maximum(np.sqrt(variance), LEAST_ERROR)
    bounds = []
    for prefix, comparisons in (("", 1), ("simultaneous_", len(first.values))):
        z = quantile(first.alpha, max(1, comparisons))
        for side, sign in (("low", -1), ("high", 1)):
            squares = [
                w**2 * _square_distance(part, getattr(part, prefix + side), z * sign)
                for w, part in parts
            ]
            bounds.append(frequency + sign * np.sqrt(np.sum(squares, axis=0)))
    p_value = ndtr(-frequency / std_error)
    return Estimates(
        values=first.values,
        n=sum(part.n for part in strata),
        alpha=first.alpha,
        frequency=frequency,
        std_error=std_error,
        low=bounds[0],
        high=bounds[1],
        simultaneous_low=bounds[2],
        simultaneous_high=bounds[3],
        p_value=p_value,
        significant=bonferroni(p_value, first.alpha),
    )


def stratum_weights(
    reports: Sequence[int], population: Sequence[float], joins: Mapping[int, int]
) -> list[float]:
    """Return W_h of each stratum, 0 for those without reports, whose part goes where `joins` says.

    Raises as `post_stratify`.
    """
    if not reports or len(reports) != len(population):
        raise ValueError("population: needs one size a stratum, and at least one stratum")
    for place, size in enumerate(population):
        if not 0 < size < float("inf"):
            raise WeightingError(place, "its part of the population is not a positive number")
    weights = [0.0] * len(reports)
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


def _variance(part: Estimates) -> Floats:
    share = np.clip(part.frequency, 0, 1)
    return np.square(part.std_error) + share * (1 - share) / part.n


def _square_distance(part: Estimates, bound: Floats, z: float) -> Floats:
    """Return the squared distance of a bound of a stratum's share, the draw of devices included.

    The draw's own is Wilson's, of the share as if it had been seen.
    """
    share, n = np.clip(part.frequency, 0, 1), part.n
    root = z * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    wilson = (share + z * z / (2 * n) + root) / (1 + z * z / n)
    return np.asarray(np.square(bound - part.frequency) + np.square(wilson - share))
