"""Hadamard response, estimated."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np
import pytest
from tests.server.statistics.mechanisms.statistics_contract import (
    ONE,
    Counts,
    StatisticsContract,
    metric_of,
    tally_of,
)

from rumor_server.statistics.mechanisms import estimate_metric, group
from rumor_server.statistics.tally import Tally
from rumor_server.statistics.transforms import walsh_hadamard
from rumor_shared.mechanisms.hadamard import Hadamard
from rumor_shared.metric import Metric


def hadamard(k: int, epsilon: float) -> Metric:
    """A metric of Hadamard response with the values v0, v1, ..."""
    return metric_of("hadamard", epsilon=epsilon, values=[f"v{i}" for i in range(k)])


def halves(mechanism: Hadamard) -> Counts:
    """Which columns are in each value's half, one by one, int64 (k, K)."""
    k, columns = len(mechanism.values), mechanism.columns
    return np.array(
        [[((v + 1) & y).bit_count() % 2 == 0 for y in range(columns)] for v in range(k)]
    ).astype(np.int64)


def spread(weights: Counts, n: int) -> Counts:
    """n reports, spread at random in proportion to these weights (and one more each)."""
    rng = np.random.default_rng(int(weights.sum()))
    return rng.multinomial(n, (weights + 1) / (weights + 1).sum())


class TestHadamard(StatisticsContract):
    """Eleven values, sixteen columns."""

    metric = hadamard(11, 1.0)

    @property
    def mechanism(self) -> Hadamard:
        """The parameters."""
        return cast(Hadamard, self.metric.mechanism)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """Half of any other value's half is in one's own."""
        return Fraction(self.mechanism.keep, ONE), Fraction(1, 2)

    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Draw columns from the law of value 0 and of value 3, and count the half of value 0."""
        own = halves(self.mechanism)
        keep = self.mechanism.keep / ONE
        counts = np.zeros(runs, dtype=np.int64)
        for value, devices in ((0, have), (3, n - have)):
            shares = np.where(own[value] == 1, keep / own[value].sum(), 0)
            shares = np.where(own[value] == 0, (1 - keep) / (own[value] == 0).sum(), shares)
            counts += rng.multinomial(devices, shares, runs) @ own[0]
        return counts

    def tally(self, counts: Counts, n: int) -> Tally:
        """Columns add up to the number of reports."""
        return Tally(np.array([n]), spread(counts, n)[None, :])

    def supports(self, tally: Tally) -> Counts:
        """Counted one column at a time."""
        supported: Counts = halves(self.mechanism) @ tally.counts[0]
        return supported

    def payload(self, rng: np.random.Generator) -> bytes:
        """Any column."""
        return bytes([int(rng.integers(16))])


def test_columns_of_two_bytes() -> None:
    """255 values need 256 columns of one byte, 256 values need 512 columns of two."""
    for k, columns, width in ((255, 256, 1), (256, 512, 2)):
        metric = hadamard(k, 1.0)
        payloads = [y.to_bytes(width, "little") for y in (0, 1, columns - 1, columns - 1)]
        counts = tally_of(metric)(payloads).counts[0]
        np.testing.assert_array_equal(
            counts, np.bincount([0, 1, columns - 1, columns - 1], minlength=columns)
        )


@pytest.mark.parametrize("order", [1, 2, 8, 64])
def test_transform_is_the_matrix(order: int) -> None:
    """The butterflies multiply by the matrix of (-1)^popcount(r & y), row by row of a batch."""
    matrix = np.array([[(-1) ** (r & y).bit_count() for y in range(order)] for r in range(order)])
    table = np.random.default_rng(1).integers(-1000, 1000, (3, 5, order))
    np.testing.assert_array_equal(walsh_hadamard(table), table @ matrix)
    np.testing.assert_array_equal(walsh_hadamard(walsh_hadamard(table)), order * table)


@pytest.mark.parametrize("length", [0, 3, 12])
def test_transform_of_another_length_is_refused(length: int) -> None:
    """There is no such matrix of an order that is not a power of two."""
    with pytest.raises(ValueError, match="power of two"):
        walsh_hadamard(np.zeros(length, dtype=np.int64))


def test_sum_of_a_group() -> None:
    """A group's estimate is the sum of its rows; its error is true over 5,000 runs.

    The mean square of 5,000 normal errors is 1 +- .1 (five sigmas).
    """
    metric = hadamard(6, 1.0)
    mechanism = cast(Hadamard, metric.mechanism)
    own = halves(mechanism)
    keep, n = mechanism.keep / ONE, 4000
    have = np.array([2000, 1000, 400, 300, 200, 100])
    rng = np.random.default_rng(12)
    runs = 5000
    counts = np.zeros((runs, mechanism.columns), dtype=np.int64)
    for value, devices in enumerate(have):
        shares = np.where(own[value] == 1, keep, 1 - keep) / (mechanism.columns / 2)
        counts += rng.multinomial(devices, shares, runs)
    squares = []
    for row in counts:
        tally = Tally(np.array([n]), row[None, :])
        summed = group(metric, tally, {"some": ["v0", "v3", "v5"]})
        squares.append(((summed.frequency[0] - 0.6) / summed.std_error[0]) ** 2)
    assert abs(np.mean(squares) - 1) < 0.1
    rows = estimate_metric(metric, tally)
    assert summed.frequency[0] == pytest.approx(rows.frequency[[0, 3, 5]].sum(), abs=1e-12)
