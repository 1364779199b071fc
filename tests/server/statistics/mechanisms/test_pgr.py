"""Projective geometry response, estimated."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.statistics.mechanisms.statistics_contract import (
    ONE,
    Counts,
    StatisticsContract,
    metric_of,
    tally_of,
)
from tests.server.statistics.mechanisms.test_hadamard import spread

from rumor_server.statistics.mechanisms import estimate_metric, group
from rumor_server.statistics.tally import Tally
from rumor_server.statistics.transforms import PrecisionLost, orthogonal_sums
from rumor_shared.mechanisms.pgr import Pgr, canonical_vector
from rumor_shared.metric import Metric


def pgr(k: int, epsilon: float) -> Metric:
    """A metric of projective geometry response with the values v0, v1, ..."""
    return metric_of("pgr", epsilon=epsilon, values=[f"v{i}" for i in range(k)])


def points(field: int, dimension: int) -> int:
    """How many points the space has."""
    return sum(field**i for i in range(dimension))


def orthogonality(field: int, dimension: int) -> Counts:
    """Which points are orthogonal, one by one, int64 (K, K)."""
    count = points(field, dimension)
    vectors = np.array([canonical_vector(i, field, dimension) for i in range(count)])
    orthogonal: Counts = ((vectors @ vectors.T) % field == 0).astype(np.int64)
    return orthogonal


class PgrContract(StatisticsContract):
    """What every field and dimension keeps."""

    @property
    def mechanism(self) -> Pgr:
        """The parameters."""
        return cast(Pgr, self.metric.mechanism)

    @property
    def meets(self) -> Counts:
        """Which points are orthogonal."""
        return orthogonality(self.mechanism.field, self.mechanism.dimension)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """Counted on the points themselves, for value 0 among devices with value 1."""
        mine, other = self.meets[0], self.meets[1]
        keep, both = self.mechanism.keep, int((mine & other).sum())
        own, count = int(other.sum()), len(mine)
        alone = int(mine.sum()) - both
        q = Fraction(keep * both, ONE * own) + Fraction((ONE - keep) * alone, ONE * (count - own))
        return Fraction(keep, ONE), q

    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Draw points from the law of value 0 and of value 1, and count those orthogonal to 0."""
        keep = self.mechanism.keep / ONE
        counts = np.zeros(runs, dtype=np.int64)
        for value, devices in ((0, have), (1, n - have)):
            own = self.meets[value]
            shares = np.where(own, keep / own.sum(), (1 - keep) / (1 - own).sum())
            counts += rng.multinomial(devices, shares, runs) @ self.meets[0]
        return counts

    def tally(self, counts: Counts, n: int) -> Tally:
        """Points add up to the number of reports."""
        return Tally(np.array([n]), spread(counts, n)[None, :])

    def supports(self, tally: Tally) -> Counts:
        """Counted one point at a time."""
        supported: Counts = self.meets[: len(self.mechanism.values)] @ tally.counts[0]
        return supported

    def payload(self, rng: np.random.Generator) -> bytes:
        """Any point."""
        point = int(rng.integers(self.mechanism.points))
        return point.to_bytes(self.mechanism.payload_bytes, "little")


class TestPgr(PgrContract):
    """The plane over three elements: 13 points for 11 values."""

    metric = pgr(11, 0.7)


class TestPgrOfHighEpsilon(PgrContract):
    """A line over a large field: every value has one orthogonal point."""

    metric = pgr(31, 3.4)

    def test_space_is_a_line(self) -> None:
        """Two coordinates suffice."""
        assert self.mechanism.dimension == 2


@given(
    space=st.sampled_from(
        [(2, 1), (7, 1), (2, 2), (2, 3), (2, 6), (3, 2), (3, 5), (5, 4), (7, 3), (13, 2), (101, 2)]
    ),
    largest=st.sampled_from([1, 1000, 10**12]),
    seed=st.integers(0, 2**32 - 1),
)
def test_transform_counts_orthogonal_points(
    space: tuple[int, int], largest: int, seed: int
) -> None:
    """Every sum equals that of a count by brute force, exactly, up to 10^12 reports a point."""
    counts = np.random.default_rng(seed).integers(0, largest, points(*space), endpoint=True)
    np.testing.assert_array_equal(orthogonal_sums(counts, *space), orthogonality(*space) @ counts)


def test_transform_of_a_large_field() -> None:
    """A line over a field of 2,999 elements: the one orthogonal point of each of 3,000."""
    counts = np.random.default_rng(1).integers(0, 1000, 3000)
    vectors = np.array([canonical_vector(i, 2999, 2) for i in range(3000)])
    sums = orthogonal_sums(counts, 2999, 2)
    for v in (0, 1, 2, 1500, 2999):
        assert sums[v] == counts[(vectors @ vectors[v]) % 2999 == 0].sum()


def test_sums_beyond_doubles_are_refused() -> None:
    """Counts that doubles can't tell apart raise an error instead of giving wrong sums."""
    counts = np.full(points(7, 3), 2**55)
    with pytest.raises(PrecisionLost, match="fewer days") as caught:
        orthogonal_sums(counts, 7, 3)
    assert caught.value.reports == 2**55 * (points(7, 3) - 1)


def test_points_of_two_bytes() -> None:
    """Points beyond 255 are read little-endian, the first and last among them."""
    metric = pgr(1024, 2.0)
    last = cast(Pgr, metric.mechanism).points - 1
    payloads = [y.to_bytes(2, "little") for y in (0, 1, 256, last, last)]
    counts = tally_of(metric)(payloads).counts[0]
    np.testing.assert_array_equal(counts, np.bincount([0, 1, 256, last, last]))


def test_sum_of_a_group() -> None:
    """A group's estimate is the sum of its rows; its error is true over 5,000 runs.

    The mean square of 5,000 normal errors is 1 +- .1 (five sigmas).
    """
    metric = pgr(11, 0.7)
    mechanism = cast(Pgr, metric.mechanism)
    meets = orthogonality(mechanism.field, mechanism.dimension)
    keep, n, runs = mechanism.keep / ONE, 6000, 5000
    have = np.array([3000, 1000, 1000, 500, 300, 200])
    rng = np.random.default_rng(13)
    counts = np.zeros((runs, mechanism.points), dtype=np.int64)
    for value, devices in enumerate(have):
        own = meets[value]
        shares = np.where(own, keep / own.sum(), (1 - keep) / (1 - own).sum())
        counts += rng.multinomial(devices, shares, runs)
    squares = []
    for row in counts:
        tally = Tally(np.array([n]), row[None, :])
        summed = group(metric, tally, {"some": ["v0", "v4", "v10"]})
        squares.append(((summed.frequency[0] - 0.55) / summed.std_error[0]) ** 2)
    assert abs(np.mean(squares) - 1) < 0.1
    rows = estimate_metric(metric, tally)
    assert summed.frequency[0] == pytest.approx(rows.frequency[[0, 4, 10]].sum(), abs=1e-12)
