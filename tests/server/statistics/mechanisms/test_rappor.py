"""RAPPOR over cohorts, decoded against candidates."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.server.statistics.mechanisms.rappor_reports import draw, expected, filters
from tests.server.statistics.mechanisms.statistics_contract import metric_of, tally_of
from tests.server.statistics.mechanisms.test_unary import random_bits

from rumor_server.statistics.cohorts.candidate_hashing import CandidateError
from rumor_server.statistics.estimation import Estimates
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric


def rappor(p: float = 0.35, q: float = 0.75, revision: int = 1) -> Metric:
    """A small metric: 32 bits, 2 hashes, 8 cohorts, f = .25."""
    return metric_of("rappor", bits=32, cohorts=8, f=0.25, p=p, q=q, revision=revision)


METRIC = rappor()
TEXTS = [f"text {i}" for i in range(40)]
OWNED = filters(METRIC, TEXTS)
# Shares of .5, .2, .1, .1, .05 and .05; 34 candidates are absent.
HAVE = np.zeros(40, dtype=np.int64)
HAVE[:6] = np.array([10, 4, 2, 2, 1, 1]) * 80_000
TRUTH = HAVE / HAVE.sum()
RUNS = 60
# Student's t of 59 degrees of freedom passes this with a chance of 6e-8.
SIGMAS = 6.2


def scores(estimates: Estimates) -> NDArray[np.float64]:
    """(estimate - truth) / standard error of every candidate."""
    score: NDArray[np.float64] = (estimates.frequency - TRUTH) / estimates.std_error
    return score


def one_run(seed: int) -> Estimates:
    """Estimates of all candidates from one draw of reports."""
    tally = draw(METRIC, OWNED, HAVE, np.random.default_rng(seed))
    return estimate_metric(METRIC, tally, TEXTS)


def test_estimate_is_unbiased_and_its_variance_true() -> None:
    """On the unconstrained fit scores have mean 0 and mean square 1, present or absent.

    Candidates of one run share its noise, so the run is the unit, which
    make 6.2 standard errors of 60 runs a rate of 6e-8 each (Student's t).
    """
    rng = np.random.default_rng(60)
    runs = np.array(
        [
            scores(estimate_metric(METRIC, draw(METRIC, OWNED, HAVE, rng), TEXTS))
            for _ in range(RUNS)
        ]
    )
    for part in (runs[:, :6], runs[:, 6:]):
        for means, wanted in ((np.square(part).mean(axis=1), 1), (part.mean(axis=1), 0)):
            assert abs(means.mean() - wanted) < SIGMAS * means.std(ddof=1) / RUNS**0.5
    # Planted fault: two percent too high is 10 standard errors at .5.
    biased = runs[:, 0] + 0.02 * 0.5 / one_run(61).std_error[0]
    assert abs(biased.mean()) > SIGMAS * biased.std(ddof=1) / RUNS**0.5
    covered = (np.abs(runs) < 1.96).mean(axis=1)
    assert abs(covered.mean() - 0.95) < SIGMAS * covered.std(ddof=1) / RUNS**0.5


def test_tally_without_noise_gives_the_truth() -> None:
    """Expected counts of 10^12 reports give every share: no ridge, no bias in the decode."""
    estimates = estimate_metric(METRIC, expected(METRIC, OWNED, HAVE * 1_000_000), TEXTS)
    np.testing.assert_allclose(estimates.frequency, TRUTH, atol=1e-9)
    assert estimates.unexplained == pytest.approx(0, abs=1e-9)


def test_common_texts_are_found_and_absent_ones_are_not() -> None:
    """All six texts in use are marked, each within five standard errors; no other one is.

    At most one absent text in twenty runs would be marked: seed fixed.
    """
    estimates = one_run(62)
    assert estimates.values == tuple(TEXTS)
    assert np.flatnonzero(estimates.significant).tolist() == list(range(6))
    assert np.abs(scores(estimates)).max() < 5


def test_share_of_unlisted_texts_is_unexplained() -> None:
    """With the commonest text left off the list, its half is unexplained, within five errors."""
    tally = draw(METRIC, OWNED, HAVE, np.random.default_rng(63))
    estimates = estimate_metric(METRIC, tally, TEXTS[1:])
    assert estimates.unexplained is not None
    assert estimates.unexplained_std_error is not None
    assert abs(estimates.unexplained - 0.5) < 5 * max(estimates.unexplained_std_error, 0.02)


@pytest.mark.parametrize("fault", ["swapped probabilities", "another revision's hashes"])
def test_faults_of_the_decode_are_seen(fault: str) -> None:
    """Planted faults: with p and q exchanged or other hashes, the commonest text is lost."""
    tally = draw(METRIC, OWNED, HAVE, np.random.default_rng(64))
    wrong = rappor(p=0.75, q=0.35) if fault.startswith("swapped") else rappor(revision=2)
    assert abs(estimate_metric(METRIC, tally, TEXTS).frequency[0] - 0.5) < 0.01
    assert abs(estimate_metric(wrong, tally, TEXTS).frequency[0] - 0.5) > 0.1


def test_a_response_that_is_turned_round_is_read_the_other_way() -> None:
    """p above q: zeros support, and the complement of a tally gives the very same estimates."""
    tally = draw(METRIC, OWNED, HAVE, np.random.default_rng(65))
    turned = Tally(tally.reports, tally.reports[:, None] - tally.counts)
    straight = estimate_metric(METRIC, tally, TEXTS)
    other = estimate_metric(rappor(p=0.65, q=0.25), turned, TEXTS)
    np.testing.assert_allclose(other.frequency, straight.frequency, atol=1e-12)


def test_rows_are_strict_json_in_the_order_of_candidates() -> None:
    """Rows keep the order given; a text given twice, or decomposed, has one row."""
    tally = draw(METRIC, OWNED, HAVE // 100, np.random.default_rng(66))
    candidates = ["text 3", "cafe\u0301", "text 0", "caf\u00e9", "text 3"]
    rows = list(estimate_metric(METRIC, tally, candidates).rows())
    assert [row["value"] for row in rows] == ["text 3", "caf\u00e9", "text 0"]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    for row in rows:
        assert row["low"] <= row["frequency"] <= row["high"]
        assert row["simultaneous_low"] <= row["low"]


def test_without_reports_or_candidates_nothing_is_claimed() -> None:
    """ST-07: no report gives None in every row; no candidates give no rows, with n."""
    empty = estimate_metric(METRIC, Tally.empty(METRIC.mechanism), ["a"])
    (row,) = empty.rows()
    assert row["n"] == 0
    assert row["frequency"] is None
    tally = draw(METRIC, OWNED, HAVE, np.random.default_rng(67))
    no_texts: list[str] = []
    for candidates in (None, no_texts):
        nothing = estimate_metric(METRIC, tally, candidates)
        assert list(nothing.rows()) == []
        assert nothing.n == HAVE.sum()
        assert nothing.unexplained is None


@pytest.mark.parametrize("reports", [1, 2, 30])
def test_few_reports_in_few_cohorts_are_estimated(reports: int) -> None:
    """Cohorts without a report, and a tally of one report, give finite numbers."""
    have = np.zeros(40, dtype=np.int64)
    have[0] = reports
    tally = draw(METRIC, OWNED, have, np.random.default_rng(68))
    estimates = estimate_metric(METRIC, tally, TEXTS[:5])
    assert estimates.n == reports
    assert np.isfinite(estimates.frequency).all()


def test_a_candidate_that_no_device_could_record_is_refused() -> None:
    """A lone surrogate is named by its place in the list."""
    tally = draw(METRIC, OWNED, HAVE, np.random.default_rng(69))
    with pytest.raises(CandidateError, match=r"candidates\[1\]"):
        estimate_metric(METRIC, tally, ["fine", "\ud800"])


@settings(max_examples=10)
@given(cut=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
def test_any_split_of_the_reports_gives_the_identical_estimate(cut: int, seed: int) -> None:
    """Tallies of cohorts add: two halves in any order decode as the whole, to the last bit."""
    rng = np.random.default_rng(seed)
    payloads = [(int(rng.integers(8)), random_bits(32, rng)) for _ in range(40)]
    mixed = [payloads[i] for i in rng.permutation(40)]
    whole, first, second = (count(part) for part in (payloads, mixed[:cut], mixed[cut:]))
    rows = [
        list(estimate_metric(METRIC, tally, TEXTS[:8]).rows()) for tally in (whole, second + first)
    ]
    assert rows[0] == rows[1]


def count(reports: list[tuple[int, bytes]]) -> Tally:
    """Tally reports of several cohorts."""
    total = Tally.empty(METRIC.mechanism)
    for cohort in range(METRIC.mechanism.cohorts):
        part = tally_of(METRIC)([payload for place, payload in reports if place == cohort])
        total.reports[cohort] += part.reports[0]
        total.counts[cohort] += part.counts[0]
    return total
