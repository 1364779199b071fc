"""The record of estimates, and the way from a metric to one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.server.statistics.mechanisms.statistics_contract import metric_of

from rumor_server.statistics.estimation import Estimates
from rumor_server.statistics.mechanisms import estimate_metric, group
from rumor_server.statistics.tally import Tally

METRIC = metric_of("krr", epsilon=1, values=["a", "b", "c"])
TALLY = Tally(np.array([90]), np.array([[50, 30, 10]]))


def test_rows_carry_plain_numbers() -> None:
    """A row has the value, n, the debiased number of reports and every field, as plain types."""
    estimates = estimate_metric(METRIC, TALLY)
    first = next(estimates.rows())
    assert first["value"] == "a"
    assert first["estimate"] == first["frequency"] * 90
    kinds = {key: type(entry) for key, entry in first.items()}
    assert kinds.pop("value") is str
    assert kinds.pop("n") is int
    assert kinds.pop("significant") is bool
    assert set(kinds.values()) == {float}


def test_numbers_that_are_not_finite_never_leave() -> None:
    """A NaN, an infinity or a wrong length is refused when the record is made."""
    estimates = estimate_metric(METRIC, TALLY)
    with pytest.raises(ValueError, match="low has an entry that is not finite"):
        replace(estimates, low=np.array([0.1, np.nan, 0.1]))
    with pytest.raises(ValueError, match="high has shape"):
        replace(estimates, high=np.zeros(2))


def test_values_beyond_alpha_are_marked() -> None:
    """The mark is that of Bonferroni: p-value at most alpha / k."""
    estimates: Estimates = estimate_metric(METRIC, TALLY)
    assert estimates.significant.tolist() == (estimates.p_value <= 0.05 / 3).tolist()
    assert estimates.significant[0]


@pytest.mark.parametrize("alpha", [0, 1, 2, float("nan")])
def test_alpha_is_checked(alpha: float) -> None:
    """An alpha that is no error rate is refused, with reports and without."""
    for tally in (TALLY, Tally.empty(METRIC.mechanism)):
        with pytest.raises(ValueError, match="alpha"):
            estimate_metric(METRIC, tally, alpha=alpha)
        with pytest.raises(ValueError, match="alpha"):
            group(METRIC, tally, {"some": ["a"]}, alpha=alpha)


def test_tally_of_another_shape_is_refused() -> None:
    """A tally of another revision's domain is refused before it is misread."""
    wrong = Tally(np.array([90]), np.array([[50, 30, 10, 0]]))
    with pytest.raises(ValueError, match="tally"):
        estimate_metric(METRIC, wrong)
    with pytest.raises(ValueError, match="tally"):
        group(METRIC, wrong, {"some": ["a"]})


def test_candidates_of_a_closed_domain_are_refused() -> None:
    """A closed domain lists its values itself."""
    with pytest.raises(ValueError, match="closed domain"):
        estimate_metric(METRIC, TALLY, ["a"])


def test_values_of_an_open_domain_are_not_summed() -> None:
    """An open domain has no values that a group could list."""
    rappor = metric_of("rappor", bits=16, cohorts=2, f=0.25, p=0.25, q=0.75)
    with pytest.raises(ValueError, match="open domain"):
        group(rappor, Tally.empty(rappor.mechanism), {"some": ["a"]})
