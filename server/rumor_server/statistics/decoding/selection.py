"""Which candidates to call present, and intervals that stay honest after the choice."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import norm

from rumor_server.statistics.decoding.sketch import Bools, Floats

Correction = Literal["bonferroni", "fdr"]

MIDDLE = 0.5
"""Storey's lambda: half of the absent candidates have a p-value above it."""

DOUBTFUL = 0.3
"""Largest chance of absence of a candidate marked on credit. Without it credit is also spent where
all that is present was found already, on false strings alone (10 beside 180 true ones, not 1). The
value was chosen on lists that no test uses (docs/decisions/0009-decoding.md)."""

CERTAIN = 1e-12
"""P-values below this count as this: the density between them would overflow."""


def select(p_values: Floats, alpha: float, correction: Correction) -> Bools:
    """Mark the candidates called present.

    `bonferroni` keeps the chance of any false one below alpha. `fdr` keeps the expected share of
    false ones among those marked below alpha: Benjamini-Hochberg's candidates, and of those that
    the estimated number of absent candidates adds (Storey's credit, large where most of a list is
    present), the ones whose own chance of absence is at most 3 in 10.
    """
    if correction == "bonferroni":
        return np.asarray(p_values <= alpha / max(1, len(p_values)))
    absent = absent_candidates(p_values)
    credited = step_up(p_values, alpha, absent) & (absence(p_values, absent) <= DOUBTFUL)
    return np.asarray(step_up(p_values, alpha, len(p_values)) | credited)


def step_up(p_values: Floats, alpha: float, absent: float) -> Bools:
    """Benjamini and Hochberg's rule (1995, J. R. Stat. Soc. B 57(1)) for `absent` absent ones."""
    order = np.sort(p_values)
    passing = np.flatnonzero(order * absent <= alpha * np.arange(1, len(order) + 1))
    if len(passing) == 0:
        return np.zeros(len(p_values), dtype=np.bool_)
    return np.asarray(p_values <= order[passing[-1]])


def absent_candidates(p_values: Floats) -> float:
    """Storey's estimate of how many candidates are absent, at most all of them.

    (1 + number of p-values above 1/2) / (1/2): Storey, Taylor, Siegmund 2004 (J. R. Stat. Soc. B
    66(1)), where `step_up` with this count controls the false discovery rate.
    """
    above = 1 + int(np.count_nonzero(p_values > MIDDLE))
    return min(float(len(p_values)), above / (1 - MIDDLE))


def absence(p_values: Floats, absent: float) -> Floats:
    """Chance that each candidate is absent, were `absent` of them: its local false discovery rate.

    The density of absent candidates' p-values over that of all, which Grenander's estimator takes
    to fall from 0 to 1 and to be constant between steps (Strimmer 2008, BMC Bioinformatics 9:303).
    """
    ends, place, counts = np.unique(
        np.maximum(p_values, CERTAIN), return_inverse=True, return_counts=True
    )
    gaps = np.diff(ends, prepend=0.0)
    density = isotonic_regression(counts / gaps, weights=gaps, increasing=False).x
    return np.asarray(np.minimum(1.0, absent / density)[place.ravel()], dtype=np.float64)


def selected_level(selected: int, candidates: int, alpha: float = 0.05) -> float:
    """Two-sided miss rate for intervals of selected candidates: alpha times selected/candidates.

    Such intervals miss an expected share alpha of those shown: false coverage rate, Benjamini and
    Yekutieli 2005 (J. Am. Stat. Assoc. 100(469)).
    """
    return alpha * max(1, selected) / max(1, candidates)


def half_width(miss: float) -> float:
    """Standard errors on each side of an estimate for a two-sided miss rate."""
    return float(norm.isf(miss / 2))
