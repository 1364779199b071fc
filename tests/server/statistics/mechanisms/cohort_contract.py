"""The statistical promises of estimators that read hashed cells by cohort (local_hashing, cms).

Populations are fixed. Each run deals their devices to cohorts and draws every response from the
mechanism's own integers over 2**64; the hash comes from `rumor_shared.hashing`, not from numpy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.server.statistics.mechanisms.statistics_contract import SIGMAS, Counts, is_one

from rumor_server.statistics.estimation import Estimates, GroupError
from rumor_server.statistics.mechanisms import estimate_metric, group
from rumor_server.statistics.tally import Tally
from rumor_shared.hashing import hash_bytes, positions
from rumor_shared.metric import Metric

PAIRS = 100_000


class Population(NamedTuple):
    """A name, and how many devices have each value."""

    name: str
    have: Counts


def zipf(k: int, n: int, exponent: float = 1.1) -> Population:
    """n devices whose values follow a Zipf law; the last value's share is 0."""
    weights = 1 / np.arange(1, k, dtype=np.float64) ** exponent
    have = np.floor(n * weights / weights.sum()).astype(np.int64)
    have[0] += n - have.sum()
    return Population("zipf", np.append(have, 0))


def spike(k: int, n: int) -> Population:
    """n devices that all have the second value."""
    have = np.zeros(k, dtype=np.int64)
    have[1] = n
    return Population("spike", have)


def flat(k: int, n: int) -> Population:
    """n devices spread evenly over all values but the last."""
    have = np.full(k, n // (k - 1), dtype=np.int64)
    have[-1] = 0
    have[0] += n - have.sum()
    return Population("flat", have)


@cache
def cells_of(metric: Metric) -> NDArray[np.int64]:
    """The cell of each value in each cohort, (cohorts, values), by the client's own hash."""
    mechanism = metric.mechanism
    size = mechanism.cells // 2 if mechanism.name == "hcms" else mechanism.cells
    hashed = [hash_bytes(value.encode()) for value in mechanism.values or ()]
    return np.array(
        [
            [positions(value, metric.key, cohort, 1, size)[0] for value in hashed]
            for cohort in range(mechanism.cohorts)
        ]
    )


class Errors(NamedTuple):
    """Over many runs, an entry a value and run: (estimate - truth) / error, and interval hits."""

    scores: NDArray[np.float64]
    held: NDArray[np.bool_]

    @property
    def mean_square(self) -> float:
        """1 for a true estimator with a true error."""
        return float(np.square(self.scores).mean())


class CohortContract(ABC):
    """What such an estimator must pass; a subclass says how its noise falls."""

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """A metric with a closed domain."""

    @abstractmethod
    def draw(self, values: Counts, cohorts: Counts, rng: np.random.Generator) -> Counts:
        """A tally's counts: report i has the value and the cohort of index i."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """P[a report shows the value's cell], for the value and for any other, over all hashes."""

    n = 20_000

    @property
    def k(self) -> int:
        """Number of values."""
        return len(self.metric.mechanism.values or ())

    def populations(self) -> list[Population]:
        """Skewed, all alike, all different."""
        return [zipf(self.k, self.n), spike(self.k, self.n), flat(self.k, self.n)]

    def tally(self, have: Counts, rng: np.random.Generator) -> Tally:
        """A tally of one report a device, of a fresh uniform cohort."""
        cohorts = rng.integers(0, self.metric.mechanism.cohorts, have.sum())
        values = np.repeat(np.arange(len(have)), have)
        reports = np.bincount(cohorts, minlength=self.metric.mechanism.cohorts)
        return Tally(reports, self.draw(values, cohorts, rng))

    def estimates(self, tally: Tally) -> Estimates:
        """What is judged; a planted fault changes it."""
        return estimate_metric(self.metric, tally)

    def errors(self, population: Population, seed: int, pairs: int = PAIRS) -> Errors:
        """Errors of as many runs as make `pairs` of value and run."""
        rng = np.random.default_rng(seed)
        truth = population.have / population.have.sum()
        scores, held = [], []
        for _ in range(math.ceil(pairs / self.k)):
            made = self.estimates(self.tally(population.have, rng))
            scores.append((made.frequency - truth) / made.std_error)
            held.append((made.low <= truth) & (truth <= made.high))
        return Errors(np.array(scores), np.array(held))

    def test_errors_and_intervals_are_true(self) -> None:
        """Mean squared error over variance is 1 +- .022, coverage 95 +- .5%, and nothing is biased.

        Over 10^5 pairs in all; a bias of .2 standard errors in any value would be seen.
        """
        parts = [self.errors(p, 20 + i, PAIRS // 3) for i, p in enumerate(self.populations())]
        for part in parts:
            assert is_one(part.mean_square, PAIRS // 3)
            assert np.abs(part.scores.mean(axis=0)).max() < SIGMAS / math.sqrt(len(part.scores))
        assert is_one(float(np.mean([part.mean_square for part in parts])))
        covered = float(np.mean([part.held.mean() for part in parts]))
        assert abs(covered - 0.95) < 0.005

    def test_a_value_that_nobody_has_is_rarely_found(self) -> None:
        """P[p-value <= level] is at most the level for an absent value, but for five sigmas."""
        rng = np.random.default_rng(30)
        runs = 400
        have = zipf(self.k, self.n).have
        have[0] += have[self.k // 2 :].sum()
        have[self.k // 2 :] = 0
        p_values = np.array(
            [self.estimates(self.tally(have, rng)).p_value[self.k // 2 :] for _ in range(runs)]
        )
        for level in (0.3, 0.05, 0.001):
            noise = SIGMAS * (level / p_values.size) ** 0.5
            assert (p_values <= level).mean() <= level + noise

    def test_few_reports_do_no_harm(self) -> None:
        """With fewer reports than cohorts the estimate is unbiased and nearly as good as it can be.

        Squared errors of 20,000 pairs are at most 12% above those of private hash functions.
        """
        have = np.zeros(self.k, dtype=np.int64)
        have[:3] = 50, 30, 20
        rng, runs = np.random.default_rng(31), 20_000 // self.k
        made = np.array([self.estimates(self.tally(have, rng)).frequency for _ in range(runs)])
        p, q = self.support
        share = have / 100
        ideal = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (100 * (p - q) ** 2)
        assert np.square(made - share).mean() < 1.12 * ideal.mean()
        scores = (made.mean(axis=0) - share) * np.sqrt(runs / ideal)
        assert np.abs(scores).max() < SIGMAS

    def test_no_report_gives_nulls(self) -> None:
        """ST-07: without a report every number is None, and n is 0."""
        for row in estimate_metric(self.metric, Tally.empty(self.metric.mechanism)).rows():
            assert row.pop("n") == 0
            row.pop("value")
            assert set(row.values()) == {None}

    def test_sum_of_a_group(self) -> None:
        """A group's estimate is the sum of its rows, and its error is true (400 runs)."""
        population = zipf(self.k, self.n)
        values = self.metric.mechanism.values or ()
        chosen = [0, 3, *range(self.k // 2, self.k)]
        truth = population.have[chosen].sum() / self.n
        rng = np.random.default_rng(32)
        squares = []
        for _ in range(400):
            tally = self.tally(population.have, rng)
            summed = group(self.metric, tally, {"some": [values[i] for i in chosen]})
            squares.append(((summed.frequency[0] - truth) / summed.std_error[0]) ** 2)
        assert is_one(float(np.mean(squares)), 400)
        rows = estimate_metric(self.metric, tally)
        assert summed.frequency[0] == pytest.approx(rows.frequency[chosen].sum(), abs=1e-9)
        with pytest.raises(GroupError, match="twice"):
            group(self.metric, tally, {"some": [values[0], values[0]]})

    def test_bias_of_two_percent_is_seen(self) -> None:
        """Planted fault: every estimate 2% too high fails the mean square where all are alike."""
        honest = self.estimates

        def biased(tally: Tally) -> Estimates:
            made = honest(tally)
            return replace(made, frequency=made.frequency * 1.02)

        self.estimates = biased  # type: ignore[method-assign]
        scores = self.errors(spike(self.k, self.n * 10), 33, 1600).scores[:, 1]
        assert not is_one(float(np.square(scores).mean()), len(scores))
