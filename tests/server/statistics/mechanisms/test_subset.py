"""Subset selection, estimated."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
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

from rumor_server.statistics.estimation import GroupError
from rumor_server.statistics.mechanisms import estimate_metric, group
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.metric import Metric


def subset(k: int, epsilon: float) -> Metric:
    """A metric of subset selection with the values v0, v1, ..."""
    return metric_of("subset", epsilon=epsilon, values=[f"v{i}" for i in range(k)])


class SubsetContract(StatisticsContract):
    """One value a run: a set has one size, so rows of one tally are dependent."""

    @property
    def mechanism(self) -> Subset:
        """The parameters."""
        return cast(Subset, self.metric.mechanism)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """From the integers alone: of the other members each other value is one equally often."""
        k, w, keep = self.mechanism.cells, self.mechanism.size, self.mechanism.keep
        return Fraction(keep, ONE), Fraction(keep * (w - 1) + (ONE - keep) * w, ONE * (k - 1))

    def draw(self, have: int, n: int, runs: int, rng: np.random.Generator) -> Counts:
        """Decide first whether a device's own value is in its set, then who else is."""
        k, w, keep = self.mechanism.cells, self.mechanism.size, self.mechanism.keep / ONE
        truthful = rng.binomial(n - have, keep, runs)
        beside = rng.binomial(truthful, (w - 1) / (k - 1))
        instead = rng.binomial(n - have - truthful, w / (k - 1))
        return rng.binomial(have, keep, runs) + beside + instead

    def payload(self, rng: np.random.Generator) -> bytes:
        """A uniform set of the size that passes the check."""
        members = rng.choice(self.mechanism.cells, self.mechanism.size, replace=False)
        return self.mechanism.encode({int(i) for i in members})


class TestSubset(SubsetContract):
    """Sets of three, as a bit mask."""

    metric = subset(11, 1.0)


class TestListedSubset(SubsetContract):
    """Sets of two of 300, as a list of indices."""

    metric = subset(300, 5.0)

    def test_members_are_listed(self) -> None:
        """This metric's payload is a list, of two bytes a member."""
        assert self.mechanism.listed
        assert self.mechanism.index_bytes == 2


@pytest.mark.parametrize(("k", "epsilon"), [(11, 1.0), (300, 5.0)])
def test_tally_counts_members(k: int, epsilon: float) -> None:
    """The first and the last value are counted like all others, whatever the layout."""
    metric = subset(k, epsilon)
    mechanism = cast(Subset, metric.mechanism)
    first, last = set(range(mechanism.size)), set(range(k - mechanism.size, k))
    counts = tally_of(metric)([mechanism.encode(s) for s in (first, last, last)]).counts[0]
    expected = [(i in first) + 2 * (i in last) for i in range(k)]
    assert counts.tolist() == expected
    assert tally_of(metric)([]).counts.sum() == 0


def test_sum_of_a_group_has_its_exact_error() -> None:
    """The error of a sum is that of the exact law of all sets, and its estimate the sum of rows."""
    metric = subset(7, 0.8)
    mechanism = cast(Subset, metric.mechanism)
    w, p = mechanism.size, mechanism.p
    n, members = 900, {"v1", "v2", "v4"}
    chosen = {metric.indices[v] for v in members}

    def moments(truth: int) -> tuple[Fraction, Fraction]:
        sets = [set(s) for s in combinations(range(7), w)]
        inside = [s for s in sets if truth in s]
        mean = square = Fraction(0)
        for s in sets:
            chance = p / len(inside) if truth in s else (1 - p) / (len(sets) - len(inside))
            mean += chance * len(s & chosen)
            square += chance * len(s & chosen) ** 2
        return mean, square - mean**2

    (mean_out, variance_out), (mean_in, variance_in) = moments(0), moments(1)
    assert mean_in - mean_out == mechanism.p - mechanism.q
    rng = np.random.default_rng(1)
    counts = tally_of(metric)(
        [mechanism.encode({int(i) for i in rng.choice(7, w, replace=False)}) for _ in range(n)]
    )
    summed = group(metric, counts, {"some": sorted(members)})
    rows = estimate_metric(metric, counts)
    assert summed.frequency[0] == pytest.approx(rows.frequency[sorted(chosen)].sum(), abs=1e-12)
    scale = n * float(mean_in - mean_out) ** 2
    # At the centre of the interval, two slopes from the estimate (Agresti, Coull 1998).
    share = summed.frequency[0] + 2 * float(variance_in - variance_out) / scale
    share = min(1, max(0, share))
    variance = share * float(variance_in) + (1 - share) * float(variance_out)
    expected = (variance / scale) ** 0.5
    assert summed.std_error[0] == pytest.approx(expected, rel=1e-12)


def test_sum_of_all_values_is_certain() -> None:
    """All values together have a share of 1 without any error."""
    metric = subset(7, 0.8)
    tally = tally_of(metric)([cast(Subset, metric.mechanism).encode({0, 1})] * 5)
    everyone = group(metric, tally, {"all": [f"v{i}" for i in range(7)]})
    assert everyone.frequency[0] == pytest.approx(1)
    assert everyone.std_error[0] == pytest.approx(0, abs=1e-12)


def test_groups_are_checked() -> None:
    """A group that is empty, repeats a value or names an unknown one is refused; n = 0 is empty."""
    metric = subset(7, 0.8)
    nothing = Tally.empty(metric.mechanism)
    for wrong in ([], ["v1", "v1"], ["w"]):
        with pytest.raises(GroupError, match=r"groups\.g"):
            group(metric, nothing, {"g": wrong})
    assert group(metric, nothing, {"g": ["v1"]}).n == 0
