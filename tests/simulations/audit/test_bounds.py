"""Clopper-Pearson bounds are exact, and fail no more often than they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from rumor_simulations.audit.bounds import Contrast, rate_high, rate_low


@pytest.mark.parametrize(("hits", "trials"), [(1, 10), (7, 10), (40, 1000), (1000, 1000)])
def test_lower_bound_is_where_the_tail_is_alpha(hits: int, trials: int) -> None:
    """At the bound, a count as high or higher comes with exactly alpha."""
    low = rate_low(hits, trials, 0.01)
    assert binom.sf(hits - 1, trials, low) == pytest.approx(0.01)


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (3, 10), (40, 1000)])
def test_upper_bound_is_where_the_tail_is_alpha(hits: int, trials: int) -> None:
    """At the bound, a count as low or lower comes with exactly alpha."""
    high = rate_high(hits, trials, 0.01)
    assert binom.cdf(hits, trials, high) == pytest.approx(0.01)


def test_ends_bound_nothing_they_can_not() -> None:
    """No hits bound nothing from below, and no false hits bound nothing from above."""
    assert rate_low(0, 10, 0.01) == 0
    assert rate_high(10, 10, 0.01) == 1
    assert Contrast(0, 10, 3, 10).loss_low(0.01) == 0
    assert Contrast(3, 10, 0, 10).loss_high(0.01) == math.inf


def test_loss_is_missed_at_most_as_often_as_stated() -> None:
    """Of 2,000 audits a bound at .05 misses 5% or less, but for a false-alarm rate of 1e-6."""
    rng = np.random.default_rng(1)
    p = math.e / (1 + math.e)
    hits, false_hits = rng.binomial(500, p, 2000), rng.binomial(500, 1 - p, 2000)
    contrasts = [Contrast(int(h), 500, int(f), 500) for h, f in zip(hits, false_hits, strict=True)]
    most = binom.isf(1e-6, 2000, 0.05)
    assert sum(c.loss_low(0.05) > 1 for c in contrasts) <= most
    assert sum(c.loss_high(0.05) < 1 for c in contrasts) <= most
