"""Estimates from support counts: the one estimator of all pure protocols, with exact errors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from rumor_server.statistics.estimates import Estimates, Floats
from rumor_server.statistics.intervals.corrected_interval import corrected_interval
from rumor_server.statistics.intervals.count_law import CountLaw, Counts, count_law
from rumor_server.statistics.intervals.exact_interval import distinct, exact_interval
from rumor_server.statistics.intervals.significance import bonferroni, check_alpha

# Counts expected to be below this are so skewed and coarse that they need their exact law.
SMALL_COUNT = 100


def estimate_pure(
    values: Sequence[str],
    counts: Counts,
    n: int,
    p: Fraction,
    q: Fraction,
    *,
    alpha: float,
    comparisons: int | None = None,
) -> Estimates:
    """Estimate the share of each value from how many of n reports support it.

    `counts` int64 (values,); `p` and `q` are the probabilities of support with and without the
    value, in either order. `comparisons` is how many of the estimates can be wrong on their own:
    all of them unless said otherwise. Raises ValueError for an alpha outside (0, 1).
    """
    check_alpha(alpha)
    if n == 0:
        return Estimates.empty(tuple(values), alpha)
    law, judged = count_law(n, p, q, counts)
    support = (p, q) if p > q else (1 - p, 1 - q)
    return estimate_counts(
        tuple(values), law, judged, alpha=alpha, comparisons=comparisons, support=support
    )


def estimate_counts(
    values: tuple[str, ...],
    law: CountLaw,
    counts: Counts,
    *,
    alpha: float,
    comparisons: int | None = None,
    support: tuple[Fraction, Fraction] | None = None,
) -> Estimates:
    """Estimate the share of each value from its count and the count's law.

    `support` are p and q where each count is of one report a device that supports or doesn't.
    """
    many = len(values) if comparisons is None else comparisons
    frequency = law.frequency(counts)
    noise = law.noise(support)
    p_value = law.p_value(counts)
    low, high = _interval(law, counts, alpha, 1)
    simultaneous_low, simultaneous_high = _interval(law, counts, alpha, many)
    return Estimates(
        values=values,
        n=law.n,
        alpha=alpha,
        frequency=frequency,
        std_error=noise.std_error(frequency),
        low=low,
        high=high,
        simultaneous_low=simultaneous_low,
        simultaneous_high=simultaneous_high,
        p_value=p_value,
        significant=bonferroni(p_value, alpha, many),
        noise=noise,
        comparisons=comparisons,
    )


def _interval(
    law: CountLaw, counts: Counts, alpha: float, comparisons: int
) -> tuple[Floats, Floats]:
    level = alpha / comparisons
    first, inverse = distinct(law, counts)
    law, counts = law.select(first), counts[first]
    low, high = corrected_interval(law, counts, level)
    small = law.trials * np.minimum(law.q, 1 - law.p) < SMALL_COUNT
    if small.any():
        low[small], high[small] = exact_interval(law.select(small), counts[small], level)
    return low[inverse], high[inverse]
