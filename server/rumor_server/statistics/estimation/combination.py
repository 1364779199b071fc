"""One answer from reports made under different noise, each part debiased by its own (CF-01)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from rumor_server.statistics.estimates import LEAST_ERROR, Estimates, Floats
from rumor_server.statistics.intervals.significance import bonferroni, quantile


class CombinationError(ValueError):
    """The estimates are no parts of one answer."""


def combine(parts: Sequence[Estimates]) -> Estimates:
    """Combine estimates of the same values from disjoint sets of reports, by inverse variance.

    This is the most exact unbiased answer where the parts share one truth, as revisions of one
    question do; where the truth moved between them, it is a weighted mean of theirs. Intervals and
    p-values are normal approximations. A part without reports has no say; one alone is returned as
    it is.

    Raises CombinationError for no parts, and for parts whose values (or their order) or alpha
    differ.
    """
    if not parts:
        raise CombinationError("parts: there are none; give at least one")
    first = parts[0]
    if any(part.values != first.values for part in parts):
        raise CombinationError("parts: the values differ; show these revisions side by side")
    if any(part.alpha != first.alpha for part in parts):
        raise CombinationError("parts: alpha differs; estimate every part with the same one")
    counted = [part for part in parts if part.n]
    if len(counted) < 2:
        return counted[0] if counted else first
    frequency, std_error = _weighted(
        [part.frequency for part in counted], [part.std_error for part in counted]
    )
    p_value = ndtr(-frequency / std_error)
    unexplained, unexplained_std_error = _unexplained(counted)
    # Where each part has one degree of freedom for several rows, so has the whole.
    alike = all(np.array_equal(part.low, part.simultaneous_low) for part in counted)
    comparisons = 1 if alike else max(1, len(first.values))
    narrow, wide = (quantile(first.alpha, many) * std_error for many in (1, comparisons))
    return Estimates(
        values=first.values,
        n=sum(part.n for part in counted),
        alpha=first.alpha,
        frequency=frequency,
        std_error=std_error,
        low=frequency - narrow,
        high=frequency + narrow,
        simultaneous_low=frequency - wide,
        simultaneous_high=frequency + wide,
        p_value=p_value,
        significant=bonferroni(p_value, first.alpha, comparisons),
        unexplained=unexplained,
        unexplained_std_error=unexplained_std_error,
    )


def _weighted(shares: list[Floats], errors: list[Floats]) -> tuple[Floats, Floats]:
    precision = 1 / np.square(np.maximum(errors, LEAST_ERROR))
    total = precision.sum(axis=0)
    return (precision * shares).sum(axis=0) / total, 1 / np.sqrt(total)


def _unexplained(parts: list[Estimates]) -> tuple[float | None, float | None]:
    shares = [part.unexplained for part in parts]
    errors = [part.unexplained_std_error for part in parts]
    if None in shares or None in errors:
        return None, None
    share, error = _weighted(
        [np.array([x], dtype=np.float64) for x in shares],
        [np.array([x], dtype=np.float64) for x in errors],
    )
    return float(share[0]), float(error[0])
