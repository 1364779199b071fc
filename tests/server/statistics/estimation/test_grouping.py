"""Sums of values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.server.statistics.mechanisms.statistics_contract import Counts, is_one, metric_of
from tests.server.statistics.mechanisms.test_krr import answers

from rumor_server.statistics.estimation import Estimates, GroupError
from rumor_server.statistics.mechanisms import estimate_metric, group
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric

VALUES = ["a", "b", "c", "d", "e"]
SOME = ["a", "b", "d"]
RUNS = 4000


def bits(metric: Metric, have: Counts, rng: np.random.Generator) -> Counts:
    """Draw the counts of a unary encoding or basic RAPPOR with f = 0 from its integers."""
    mechanism = metric.mechanism
    names = ("set_stays", "clear_sets") if metric.mechanism.name == "oue" else ("q_set", "p_set")
    stay, appear = (getattr(mechanism, name) / 2**64 for name in names)
    counts: Counts = rng.binomial(have, stay) + rng.binomial(have.sum() - have, appear)
    return counts


CASES = {
    "krr": (metric_of("krr", epsilon=1.5, values=VALUES), answers),
    "oue": (metric_of("oue", epsilon=1.5, values=VALUES), bits),
    "turned round": (metric_of("basic_rappor", f=0, p=0.7, q=0.2, values=VALUES), bits),
}


@pytest.mark.parametrize("case", CASES)
def test_sum_is_unbiased_and_its_variance_true(case: str) -> None:
    """The mean square of (sum - truth) / standard error is 1 over 4,000 runs (five sigmas: .11)."""
    metric, draw = CASES[case]
    have = np.array([3000, 1500, 2500, 500, 2500])
    rng = np.random.default_rng(50)
    squares, covered = [], 0
    for _ in range(RUNS):
        tally = Tally(np.array([10_000]), draw(metric, have, rng)[None, :])
        one = group(metric, tally, {"some": SOME})
        squares.append(((one.frequency[0] - 0.5) / one.std_error[0]) ** 2)
        covered += bool(one.low[0] <= 0.5 <= one.high[0])
    assert is_one(float(np.mean(squares)), RUNS)
    assert abs(covered / RUNS - 0.95) < 5 * (0.95 * 0.05 / RUNS) ** 0.5


def test_adding_the_variances_of_krr_rows_is_seen_to_be_wrong() -> None:
    """Planted fault: rows of krr are dependent; the root of their summed variances fails."""
    metric, draw = CASES["krr"]
    have = np.array([3000, 1500, 2500, 500, 2500])
    rng = np.random.default_rng(51)
    squares = []
    for _ in range(RUNS):
        rows = estimate_metric(metric, Tally(np.array([10_000]), draw(metric, have, rng)[None, :]))
        chosen = [0, 1, 3]
        naive = np.square(rows.std_error[chosen]).sum() ** 0.5
        squares.append(((rows.frequency[chosen].sum() - 0.5) / naive) ** 2)
    assert not is_one(float(np.mean(squares)), RUNS)


def small(name: str) -> tuple[Metric, Tally]:
    """A metric and a tally of 200 reports."""
    metric = CASES[name][0]
    return metric, Tally(np.array([200]), np.array([[60, 50, 40, 30, 20]]))


@pytest.mark.parametrize("case", CASES)
def test_sum_of_rows_is_the_share_of_their_group(case: str) -> None:
    """The sum's frequency is the sum of frequencies; a group of one value is that value's row."""
    metric, tally = small(case)
    rows = estimate_metric(metric, tally)
    groups = group(metric, tally, {"one": ["c"], "some": SOME})
    assert groups.values == ("one", "some")
    assert groups.frequency[1] == pytest.approx(rows.frequency[[0, 1, 3]].sum(), abs=1e-12)
    for name in ("frequency", "std_error", "low", "high", "p_value"):
        assert getattr(groups, name)[0] == pytest.approx(getattr(rows, name)[2], abs=1e-12)


def test_all_values_of_krr_are_certain() -> None:
    """Every device has one of the values: their sum is exactly 1, without error."""
    metric, tally = small("krr")
    every = group(metric, tally, {"all": VALUES})
    assert every.frequency[0] == pytest.approx(1, abs=1e-12)
    assert every.std_error[0] == pytest.approx(0, abs=1e-6)
    assert every.high[0] >= 1 - 1e-12


def test_both_answers_of_binary_are_certain() -> None:
    """The same holds for the two answers of binary randomized response."""
    metric = metric_of("binary", epsilon=1)
    both: Estimates = group(
        metric, Tally(np.array([200]), np.array([[80]])), {"any": ["false", "true"]}
    )
    assert both.frequency[0] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "says"),
    [([], "empty"), (["a", "a"], "twice"), (["a", "nowhere"], "has not")],
)
def test_a_group_that_cannot_be_summed_is_refused(values: list[str], says: str) -> None:
    """Empty groups, repeated and unknown values are refused by the group's name."""
    metric, tally = small("krr")
    with pytest.raises(GroupError, match=says) as refused:
        group(metric, tally, {"good": ["a"], "bad": values})
    assert refused.value.group == "bad"
    assert "nowhere" not in str(refused.value)


def test_no_report_gives_nulls_for_groups() -> None:
    """Without a report each group has a row of None."""
    metric, _ = small("krr")
    (row,) = group(metric, Tally.empty(metric.mechanism), {"some": SOME}).rows()
    assert row["n"] == 0
    assert row["frequency"] is None
