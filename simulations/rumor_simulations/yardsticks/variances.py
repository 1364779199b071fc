"""Errors of estimated counts and gains of fakes, measured by drawing populations (Y1-Y4, Y8, Y15).

Errors are squares in devices, averaged over all values, as the papers' result files have them. A
run's mean over values is one observation: its values share reports, so their squares go together.
The gain of fakes on OUE is that of Cao, Jia, Gong 2021.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.metric import Metric
from rumor_simulations.attacks.poisoning import Poison, poisoning
from rumor_simulations.mechanisms import population_tally
from rumor_simulations.population import Counts, PopulationCounts
from rumor_simulations.yardsticks.populations import question, spike, values, zipf
from rumor_simulations.yardsticks.unoffered import BlockHadamard
from rumor_simulations.yardsticks.yardstick import Yardstick

Floats = NDArray[np.float64]

# Sets drawn at a time: 22,000 keys each make 22 MiB.
_SETS = 250

# Projective geometry response (Feldman et al. 2022), the authors' raw result files: n = 1000, k =
# 22,000, Zipf 1.0. Name, epsilon, their prime, their squared errors of subset selection, of theirs,
# and of Hadamard response in blocks.
_PGR = [
    ("Y1", "2", 11, 722.09, 745.87, None),
    ("Y2", "3.14286", 29, 188.996, 190.326, None),
    ("Y3", "4", 59, 76.4775, 76.0303, 182.93),
    ("Y4", "5", 151, 27.313, 27.254, 68.93),
]
# The same files: all of 1000 devices have one of 1024 values.
_SPIKE = [("2", 716.6), ("3", 219.9), ("5", 28.03)]


def measure_pgr_files(runs: int) -> Iterator[Yardstick]:
    """Yield Y1 to Y4. More `runs` make smaller errors."""
    rng = np.random.default_rng(1)
    for name, epsilon, field, subset, pgr, blocks in _PGR:
        yield _pgr_files(name, "subset", epsilon, subset, runs, rng)
        yield _pgr_files(name, "pgr", epsilon, pgr, runs, rng, field=field)
        if blocks is not None:
            yield _blocks(name, epsilon, blocks, 8 * runs, rng)


def measure_spikes(runs: int) -> Iterator[Yardstick]:
    """Yield Y8. More `runs` make smaller errors."""
    rng = np.random.default_rng(2)
    for epsilon, published in _SPIKE:
        yield _oue_spike(epsilon, published, runs, rng)


def measure_local_hashing(runs: int) -> Iterator[Yardstick]:
    """Yield the regression over public cohorts against its ideal (formulas 1.5).

    Predicted is the mean of the variances that it states itself.
    """
    rng = np.random.default_rng(3)
    k, n = 1024, 10**6
    metric = question("local_hashing", "1", k, cohorts=16_384)
    stated, squares = [], []
    for _ in range(runs):
        population = zipf(k, n, 1.1, rng)
        estimates = estimate_metric(metric, population_tally(metric, population, rng))
        stated.append(n**2 * float(np.square(estimates.std_error).mean()))
        squares.append(float(np.square(estimates.frequency * n - population.counts).mean()))
    predicted = float(np.mean(stated))
    ideal = n * 4 * math.e / (math.e - 1) ** 2
    what = (
        "local_hashing, 16,384 cohorts, n = 10^6, k = 1024, Zipf 1.1, epsilon 1; "
        f"{np.mean(squares) / ideal - 1:+.1%} of the ideal {ideal:,.0f}"
    )
    yield _drawn("LH", what, predicted, None, np.array(squares))


def subset_tally(metric: Metric, population: PopulationCounts, rng: np.random.Generator) -> Tally:
    """Draw each device's set by ranking random keys: faster than a model for few devices."""
    mechanism = Subset.of(metric.mechanism)
    k, w = len(mechanism.values), mechanism.size
    values: Counts = np.repeat(np.arange(k), population.counts)
    counts = np.zeros(k, dtype=np.int64)
    for start in range(0, len(values), _SETS):
        own = values[start : start + _SETS]
        rows = np.arange(len(own))
        keys = rng.random((len(own), k), dtype=np.float32)
        # The least key is in every set, the largest in none: a set holds its own value or not.
        keys[rows, own] = np.where(rng.random(len(own)) < float(mechanism.p), -1, 2)
        members = np.argpartition(keys, w - 1, axis=1)[:, :w]
        counts += np.bincount(members.ravel(), minlength=k)
    return Tally(np.array([len(values)]), counts[None, :])


def _pgr_files(
    name: str,
    mechanism: str,
    epsilon: str,
    published: float,
    runs: int,
    rng: np.random.Generator,
    **fields: int,
) -> Yardstick:
    k, n = 22_000, 1000
    metric = question(mechanism, epsilon, k, **fields)
    draw = subset_tally if mechanism == "subset" else population_tally
    squares = mean_squares(metric, lambda: zipf(k, n, 1.0, rng), draw, runs, rng)
    what = f"{mechanism}, n = 1000, k = 22,000, Zipf 1.0, epsilon {epsilon}"
    return _drawn(name, what, n * _absent_variance(metric), published, squares)


def _blocks(
    name: str, epsilon: str, published: float, runs: int, rng: np.random.Generator
) -> Yardstick:
    k, n = 22_000, 1000
    response = BlockHadamard.of(k, float(epsilon))
    squares, predicted = [], []
    for _ in range(runs):
        held = zipf(k, n, 1.0, rng).counts
        error = response.estimate(response.draw(held, rng)) - held
        squares.append(float(np.square(error).mean()))
        predicted.append(response.mean_variance(held))
    what = f"Hadamard response in blocks (not offered), as above, epsilon {epsilon}"
    # A population's own spread is in both, so what is left of a run is its noise.
    excess = np.array(squares) - np.array(predicted)
    return _drawn(name, what, float(np.mean(predicted)), published, excess + np.mean(predicted))


def _oue_spike(epsilon: str, published: float, runs: int, rng: np.random.Generator) -> Yardstick:
    k, n = 1024, 1000
    metric = question("oue", epsilon, k)
    squares = mean_squares(metric, lambda: spike(k, n), population_tally, runs, rng)
    what = f"oue, n = 1000, k = 1024, all devices alike, epsilon {epsilon}"
    # A share's variance is larger by f / n (formulas 1.2): n / k in the mean over all values.
    predicted = n * _absent_variance(metric) + n / k
    return _drawn("Y8", what, predicted, published, squares)


def mean_squares(
    metric: Metric,
    populate: Callable[[], PopulationCounts],
    draw: Callable[[Metric, PopulationCounts, np.random.Generator], Tally],
    runs: int,
    rng: np.random.Generator,
) -> Floats:
    """Return float64 (runs,): the mean squared error over all values of each run."""
    squares = []
    for _ in range(runs):
        population = populate()
        estimates = estimate_metric(metric, draw(metric, population, rng))
        errors: Floats = estimates.frequency * population.n - population.counts
        squares.append(float(np.square(errors).mean()))
    return np.array(squares)


def _drawn(
    name: str, what: str, predicted: float, published: float | None, squares: Floats
) -> Yardstick:
    """Return the row of independent runs, whose own spread is the error of their mean.

    Raises ValueError for a single run, which has none.
    """
    if len(squares) < 2:
        raise ValueError("runs: at least 2, for the spread between runs is the error")
    error = float(squares.std(ddof=1)) / math.sqrt(len(squares))
    measured = float(squares.mean())
    return Yardstick(name, what, predicted, published, measured, error, freedom=len(squares) - 1)


def _absent_variance(metric: Metric) -> float:
    p, q = metric.mechanism.p, metric.mechanism.q  # type: ignore[attr-defined]
    return float(q * (1 - q) / (p - q) ** 2)


_PUBLISHED = 1.5815
_FAKES, _TARGETS, _SHARE = 0.05, 10, 0.01


def measure_poisoning(runs: int) -> Iterator[Yardstick]:
    """Yield Y15. More `runs` make a smaller error."""
    k, n = 64, 100_000
    counts = np.zeros(k, dtype=np.int64)
    counts[0], counts[-1] = round(n * (1 - _SHARE)), round(n * _SHARE)
    population, targets = PopulationCounts(values(k), counts), values(k)[-_TARGETS:]
    rng = np.random.default_rng(6)
    for gain in poisoning(question("oue", "1", k), population, targets, _FAKES, runs, rng):
        if gain.poison is Poison.MAXIMAL:
            what = "gain of 5% of fakes on ten values of 1% together, oue, epsilon 1"
            yield Yardstick("Y15", what, gain.predicted, _PUBLISHED, gain.gain, gain.std_error)
