"""The statistical promises that the estimator of every pure mechanism keeps.

Populations are fixed: `have` of n devices have the value, and only the noise is drawn. It is drawn
from the mechanism's own integers over 2**64, by a route that shares nothing with the estimator.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rumor_server.statistics.estimation import Estimates
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.mechanisms.table import estimator
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_shared.registry import registry_of

Counts = NDArray[np.int64]

PAIRS = 100_000
# Five standard deviations either way: a false-alarm rate of 5.7e-7 a test.
SIGMAS = 5
SHARES = [0.0, 0.1, 0.5, 1.0]
ONE = 2**64

at_every_share = pytest.mark.parametrize("share", SHARES)


def metric_of(mechanism: str, **fields: Any) -> Metric:
    """Return a metric named `m` of this mechanism."""
    table = {"revision": 1, "owner": "o", "purpose": "p", "expires": date(2099, 12, 31)}
    document = {"metrics": {"m": {**table, "mechanism": mechanism, **fields}}}
    return registry_of(document).metric("m")


def mean_square(estimates: Estimates, truth: float) -> float:
    """Return the mean of ((estimate - truth) / standard error)^2: 1 for a true estimator."""
    return float(np.square((estimates.frequency - truth) / estimates.std_error).mean())


def is_one(square: float, pairs: int = PAIRS) -> bool:
    """Whether a mean square over independent pairs is 1 within five of its own sigmas."""
    return abs(square - 1) < SIGMAS * math.sqrt(2 / pairs)


def coverage(estimates: Estimates, truth: float) -> float:
    """Return how often the interval holds the truth."""
    return float(((estimates.low <= truth) & (truth <= estimates.high)).mean())


class StatisticsContract(ABC):
    """What the estimator of a pure mechanism must pass; a subclass says how its noise falls."""

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """A metric of the mechanism."""

    @property
    @abstractmethod
    def support(self) -> tuple[Fraction, Fraction]:
        """P[support | value] and P[support | other value]."""

    @abstractmethod
    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Support counts int64 (runs,) of one value that `have` of n devices have."""

    def tally(self, counts: Counts, n: int) -> Tally:
        """A tally of n reports with these cells."""
        return Tally(np.array([n]), counts[None, :])

    @abstractmethod
    def payload(self, rng: np.random.Generator) -> bytes:
        """Any payload that a device may send."""

    def estimates(self, counts: Counts, n: int) -> Estimates:
        """Estimates from one count a run, as if the runs were values of one domain."""
        p, q = self.support
        names = [str(i) for i in range(len(counts))]
        return estimate_pure(names, counts, n, p, q, alpha=0.05)

    def reports_for(self, least: int) -> int:
        """How many reports make `least` the count expected where nobody has the value."""
        p, q = self.support
        return int(least / min(p, q, 1 - p, 1 - q)) + 1

    def test_each_row_is_the_estimate_of_its_count(self) -> None:
        """The module's rows are those that the statistics below judge, to the last bit."""
        rng = np.random.default_rng(1)
        n = 1000
        for _ in range(20):
            counts = rng.integers(0, n, self.metric.mechanism.cells)
            tally = self.tally(counts, n)
            rows = estimate_metric(self.metric, tally)
            stacked = self.estimates(self.supports(tally), n)
            for name in ("frequency", "std_error", "low", "high", "p_value"):
                np.testing.assert_array_equal(getattr(rows, name), getattr(stacked, name))

    def supports(self, tally: Tally) -> Counts:
        """Support counts of all values in a tally."""
        supports: Counts = tally.counts[0]
        return supports

    @at_every_share
    def test_estimate_is_unbiased_and_its_variance_true(self, share: float) -> None:
        """The mean square of (estimate - truth) / standard error is 1 over 10^5 runs."""
        n = 1_000_000
        counts = self.draw(round(share * n), n, PAIRS, np.random.default_rng(2))
        assert is_one(mean_square(self.estimates(counts, n), share))

    @at_every_share
    def test_intervals_cover_95_percent_of_large_counts(self, share: float) -> None:
        """Where 1,500 supports are expected by noise alone, coverage is 95 +- .5%.

        Integer counts move the true coverage by up to .15%; five sigmas of 10^5 runs are .34%.
        """
        n = self.reports_for(1500)
        have = round(share * n)
        counts = self.draw(have, n, PAIRS, np.random.default_rng(3))
        assert abs(coverage(self.estimates(counts, n), have / n) - 0.95) < 0.005

    @at_every_share
    @pytest.mark.parametrize("expected", [2, 20, 90])
    def test_intervals_cover_at_least_95_percent_of_small_counts(
        self, share: float, expected: int
    ) -> None:
        """Where few supports are expected, coverage is never below 95%, but for five sigmas."""
        n = self.reports_for(expected)
        have = round(share * n)
        counts = self.draw(have, n, PAIRS, np.random.default_rng(4))
        noise = SIGMAS * (0.95 * 0.05 / PAIRS) ** 0.5
        assert coverage(self.estimates(counts, n), have / n) > 0.95 - noise

    @pytest.mark.parametrize("level", [0.3, 0.05, 0.001])
    def test_a_value_that_nobody_has_is_rarely_found(self, level: float) -> None:
        """P[p-value <= level] is at most the level (five sigmas and one run allowed)."""
        n = 1000
        counts = self.draw(0, n, PAIRS, np.random.default_rng(5))
        found = float((self.estimates(counts, n).p_value <= level).mean())
        assert found <= level + SIGMAS * (level / PAIRS) ** 0.5 + 1 / PAIRS

    @at_every_share
    def test_tally_without_noise_gives_the_truth(self, share: float) -> None:
        """Counts equal to their expectation, rounded to integers, give the truth."""
        p, q = self.support
        n = 10**15
        exact = n * (q + (p - q) * Fraction(share))
        estimates = self.estimates(np.array([round(exact)]), n)
        assert abs(estimates.frequency[0] - share) < float(1 / (n * abs(p - q))) + 1e-13

    def test_bias_of_two_percent_is_seen(self) -> None:
        """Planted fault: every estimate 2% too high fails the mean square at f = .5."""
        n = 1_000_000
        counts = self.draw(n // 2, n, PAIRS, np.random.default_rng(6))
        honest = self.estimates(counts, n)
        assert is_one(mean_square(honest, 0.5))
        biased = replace(honest, frequency=honest.frequency * 1.02)
        assert not is_one(mean_square(biased, 0.5))

    def test_swapped_probabilities_are_seen(self) -> None:
        """Planted fault: p and q exchanged in the estimator fail the mean square."""
        n = 1_000_000
        counts = self.draw(n // 10, n, PAIRS, np.random.default_rng(7))
        p, q = self.support
        names = [str(i) for i in range(PAIRS)]
        swapped = estimate_pure(names, counts, n, q, p, alpha=0.05)
        assert not is_one(mean_square(swapped, 0.1))

    def test_variance_of_an_absent_value_is_seen_to_be_wrong(self) -> None:
        """Planted fault: the error at f = 0 fails at f = 1, but for mechanisms where it is true."""
        p, q = self.support
        if p + q == 1:
            pytest.skip("the variance does not depend on f where p + q = 1")
        n = 1_000_000
        counts = self.draw(n, n, PAIRS, np.random.default_rng(8))
        honest = self.estimates(counts, n)
        absent = float(q * (1 - q) / (n * (p - q) ** 2)) ** 0.5
        assert is_one(mean_square(honest, 1))
        assert not is_one(mean_square(replace(honest, std_error=np.full(PAIRS, absent)), 1))

    @pytest.mark.parametrize("n", [1, 2, 50, 1000, 10**6])
    def test_rows_are_strict_json_in_order(self, n: int) -> None:
        """Every row parses under strict JSON, and its bounds enclose the raw estimate."""
        rng = np.random.default_rng(9)
        counts = rng.integers(0, n, self.metric.mechanism.cells, endpoint=True)
        rows = list(estimate_metric(self.metric, self.tally(counts, n)).rows())
        assert [row["value"] for row in rows] == list(self.metric.mechanism.values or ())
        assert json.loads(json.dumps(rows, allow_nan=False)) == rows
        for row in rows:
            assert row["n"] == n
            assert row["low"] <= row["frequency"] <= row["high"]
            assert row["simultaneous_low"] <= row["low"]
            assert row["high"] <= row["simultaneous_high"]
            assert 0 <= row["p_value"] <= 1

    def test_no_report_gives_nulls(self) -> None:
        """ST-07: without a report every number is None, and n is 0."""
        rows = list(estimate_metric(self.metric, Tally.empty(self.metric.mechanism)).rows())
        assert [row["value"] for row in rows] == list(self.metric.mechanism.values or ())
        for row in rows:
            assert row.pop("n") == 0
            row.pop("value")
            assert set(row.values()) == {None}

    # Every subclass runs this one function, each on a mechanism of its own: that is the purpose.
    @settings(suppress_health_check=[HealthCheck.differing_executors], max_examples=25)
    @given(cuts=st.lists(st.integers(0, 60), max_size=6), seed=st.integers(0, 2**32 - 1))
    def test_any_split_of_the_reports_gives_the_identical_estimate(
        self, cuts: list[int], seed: int
    ) -> None:
        """Tallies add: reports split among any number of tallies in any order estimate the same."""
        rng = np.random.default_rng(seed)
        payloads = [self.payload(rng) for _ in range(60)]
        count = tally_of(self.metric)
        whole = count(payloads)
        mixed = [payloads[i] for i in rng.permutation(60)]
        ends = [0, *sorted(cuts), 60]
        parts = [count(mixed[a:b]) for a, b in pairwise(ends)]
        split = Tally.empty(self.metric.mechanism)
        for i in rng.permutation(len(parts)):
            split += parts[i]
        assert list(estimate_metric(self.metric, split).rows()) == list(
            estimate_metric(self.metric, whole).rows()
        )


def tally_of(metric: Metric) -> Callable[[list[bytes]], Tally]:
    """Return a function from payloads of one cohort to a tally."""
    mechanism = metric.mechanism
    part = estimator(metric)

    def count(payloads: list[bytes]) -> Tally:
        for payload in payloads:
            mechanism.check_payload(payload)
        cells: Counts = part.tally(payloads)
        assert cells.dtype == np.int64
        return Tally(np.array([len(payloads)]), cells[None, :])

    return count
