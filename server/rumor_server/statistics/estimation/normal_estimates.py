"""Estimates whose noise is a sum of many small parts: nearly normal, with a known variance.

Single values of pure protocols have an exact law (`estimation.pure`). Sums over dependent reports
and regressions have none that is of use, but their variance is exact or nearly so.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from rumor_server.statistics.estimates import LEAST_ERROR, Estimates, Floats
from rumor_server.statistics.intervals.significance import bonferroni, check_alpha, quantile
from rumor_server.statistics.noise import Noise


def estimate_normal(
    values: tuple[str, ...],
    n: int,
    frequency: Floats,
    absent: Floats,
    slope: Floats,
    *,
    alpha: float,
    p_value: Floats | None = None,
    comparisons: int | None = None,
    unexplained: tuple[float, float] | None = None,
) -> Estimates:
    """Return estimates from raw signed frequencies whose variance at a truth f is absent + slope f.

    All arrays (values,). Intervals are those f that are within the normal quantile of `frequency`
    (Wilson's construction, as `estimation.score_interval`). `p_value` defaults to the normal tail
    at f = 0, `comparisons` to the number of values. `unexplained` is a share and its
    standard error. Raises ValueError for an alpha outside (0, 1).
    """
    check_alpha(alpha)
    many = max(1, len(values)) if comparisons is None else comparisons
    if p_value is None:
        p_value = ndtr(-frequency / np.sqrt(np.maximum(absent, LEAST_ERROR**2)))
    low, high = _interval(frequency, absent, slope, quantile(alpha, 1))
    wide_low, wide_high = _interval(frequency, absent, slope, quantile(alpha, many))
    noise = Noise(absent, slope, n)
    share, error = unexplained if unexplained is not None else (None, None)
    return Estimates(
        values=values,
        n=n,
        alpha=alpha,
        frequency=frequency,
        std_error=noise.std_error(frequency),
        low=low,
        high=high,
        simultaneous_low=wide_low,
        simultaneous_high=wide_high,
        p_value=p_value,
        significant=bonferroni(p_value, alpha, many),
        unexplained=share,
        unexplained_std_error=error,
        noise=noise,
        comparisons=comparisons,
    )


def _interval(frequency: Floats, absent: Floats, slope: Floats, z: float) -> tuple[Floats, Floats]:
    half = z * z * slope / 2
    at_estimate = np.maximum(absent + slope * frequency, 0)
    root = np.sqrt(half * half + z * z * at_estimate)
    return frequency + half - root, frequency + half + root
