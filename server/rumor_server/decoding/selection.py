"""Which candidates to call present, and intervals that stay honest after the choice."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.stats import norm

from rumor_server.decoding.sketch import Bools, Floats

Correction = Literal["bonferroni", "fdr"]

MIDDLE = 0.5
"""Storey's lambda: half of the absent candidates have a p-value above it."""

ABSENT_AT_LEAST = 5 / 6
"""Share of a list that counts as absent whatever the estimate says. Where half a list is absent,
full credit spends the whole of alpha on false strings (3.3 false beside 70.5 true, mean of 300
runs of k = 128, h = 2, m = 16 at 10^7 reports); with this bound it is 2.1 beside 68.5."""


def absent_candidates(p_values: Floats) -> float:
    """Storey's estimate of how many candidates are absent, kept within 5/6 and all of them.

    (1 + number of p-values above 1/2) / (1/2): Storey, Taylor, Siegmund 2004 (J. R. Stat. Soc. B
    66(1)), where Benjamini-Hochberg with this count controls the false discovery rate.
    """
    above = 1 + int(np.count_nonzero(p_values > MIDDLE))
    listed = float(len(p_values))
    return min(listed, max(ABSENT_AT_LEAST * listed, above / (1 - MIDDLE)))


def select(p_values: Floats, alpha: float, correction: Correction) -> Bools:
    """Mark the candidates called present.

    `bonferroni` keeps the chance of any false one below alpha; `fdr` keeps the expected share of
    false ones among those marked below alpha (Benjamini-Hochberg with Storey's count).
    """
    if correction == "bonferroni":
        return np.asarray(p_values <= alpha / max(1, len(p_values)))
    order = np.sort(p_values)
    allowed = alpha * np.arange(1, len(order) + 1) / absent_candidates(p_values)
    passing = np.flatnonzero(order <= allowed)
    if len(passing) == 0:
        return np.zeros(len(p_values), dtype=np.bool_)
    return np.asarray(p_values <= order[passing[-1]])


def selected_level(selected: int, candidates: int, alpha: float = 0.05) -> float:
    """Two-sided miss rate for intervals of selected candidates: alpha times selected/candidates.

    Such intervals miss an expected share alpha of those shown: false coverage rate, Benjamini and
    Yekutieli 2005 (J. Am. Stat. Assoc. 100(469)).
    """
    return alpha * max(1, selected) / max(1, candidates)


def half_width(miss: float) -> float:
    """Standard errors on each side of an estimate for a two-sided miss rate."""
    return float(norm.isf(miss / 2))
