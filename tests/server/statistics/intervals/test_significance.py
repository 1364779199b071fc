"""Tests of many values at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from rumor_server.statistics.estimation import benjamini_hochberg, bonferroni
from rumor_server.statistics.intervals.count_law import binomial_upper
from rumor_server.statistics.intervals.significance import check_alpha, quantile

p_values = st.lists(st.floats(0, 1), max_size=30).map(np.array)


def test_binomial_tail_is_exact_far_out() -> None:
    """P[count or more] agrees with scipy's however small, and at both ends."""
    counts = np.array([0, 1, 50, 200, 999, 1000])
    tail = binomial_upper(counts, np.full(6, 1000), np.full(6, 0.01))
    np.testing.assert_allclose(tail, binom.sf(counts - 1, 1000, 0.01), rtol=1e-9)
    assert tail[0] == 1
    assert 0 < tail[3] < 1e-150


def test_benjamini_hochberg_marks_what_the_paper_marks() -> None:
    """The example of Benjamini and Hochberg (1995, section 4.1): four of fifteen at .05."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    shuffled = np.random.default_rng(21).permutation(15)
    marks = np.empty(15, dtype=bool)
    marks[shuffled] = benjamini_hochberg(np.array(p)[shuffled], 0.05)
    assert marks.tolist() == [True] * 4 + [False] * 11
    assert bonferroni(np.array(p), 0.05).sum() == 3


@given(p_value=p_values, alpha=st.floats(0.001, 0.5))
def test_benjamini_hochberg_marks_all_that_bonferroni_marks(
    p_value: np.typing.NDArray[np.float64], alpha: float
) -> None:
    """Controlling the false discovery rate never finds fewer, and marks the lowest p-values."""
    marks = benjamini_hochberg(p_value, alpha)
    assert not (bonferroni(p_value, alpha) & ~marks).any()
    if marks.any() and not marks.all():
        assert p_value[marks].max() <= p_value[~marks].min()


def test_rates_hold_on_values_that_nobody_has() -> None:
    """Of 2,000 runs of 50 uniform p-values, 5% have a false mark: at most 7.4% (five sigmas)."""
    rng = np.random.default_rng(22)
    runs = rng.uniform(size=(2000, 50))
    for procedure in (bonferroni, benjamini_hochberg):
        false = np.mean([procedure(run, 0.05).any() for run in runs])
        assert false < 0.05 + 5 * (0.05 * 0.95 / 2000) ** 0.5


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, float("nan")])
def test_alpha_outside_its_range_is_refused(alpha: float) -> None:
    """An error rate of 0, 1 or no number at all is refused by name."""
    with pytest.raises(ValueError, match="alpha"):
        check_alpha(alpha)


def test_quantile_of_several_comparisons() -> None:
    """1.96 for one comparison at 5%, 3.48 for a hundred."""
    assert quantile(0.05, 1) == pytest.approx(1.959964, abs=1e-6)
    assert quantile(0.05, 100) == pytest.approx(3.480756, abs=1e-6)
