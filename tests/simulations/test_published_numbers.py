"""Published numbers beside frequency: shuffling, numbers, two rounds, fakes and ranges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from rumor_simulations.shuffling import amplified, closed_form, shuffled_delta
from rumor_simulations.yardsticks.hierarchy import (
    Tree,
    constrained,
    constrained_variance,
    cover,
    measure_hierarchy,
)
from rumor_simulations.yardsticks.identities import measure_shuffling
from rumor_simulations.yardsticks.unoffered import (
    duchi,
    hybrid,
    measure_numbers,
    measure_two_rounds,
    piecewise,
)
from rumor_simulations.yardsticks.variances import measure_poisoning


@pytest.mark.parametrize(
    ("n", "epsilon", "closed", "numeric"),
    [
        (10**6, 1.0, 0.02718, 0.00613),
        (10**6, 8.0, 1.0875, 0.55664),
        (10**5, 8.0, None, 7.79),
        (10**4, 4.0, None, 0.755),
    ],
)
def test_shuffling_amplifies(n: int, epsilon: float, closed: float | None, numeric: float) -> None:
    """The central epsilon at delta = 1e-8 is that of the table in formulas, section 7."""
    assert amplified(epsilon, n, 1e-8) == pytest.approx(numeric, rel=2e-3)
    found = closed_form(epsilon, n, 1e-8)
    assert found == (None if closed is None else pytest.approx(closed, rel=1e-3))


def test_shuffled_delta_is_that_of_the_two_laws() -> None:
    """The tails give what summing over all pairs of counts gives, for few reports."""
    n, epsilon, central = 12, 1.5, 0.7
    clone, truth = np.exp(-epsilon), np.exp(epsilon) / (np.exp(epsilon) + 1)
    own: dict[tuple[int, int], float] = {}
    other: dict[tuple[int, int], float] = {}
    for c in range(n):
        for a, d in product(range(c + 1), (0, 1)):
            chance = binom.pmf(c, n - 1, clone) * binom.pmf(a, c, 0.5) * (truth if d else 1 - truth)
            own[a + d, c - a + 1 - d] = own.get((a + d, c - a + 1 - d), 0) + chance
            other[a + 1 - d, c - a + d] = other.get((a + 1 - d, c - a + d), 0) + chance
    expected = sum(max(p - np.exp(central) * other.get(at, 0), 0) for at, p in own.items())
    assert shuffled_delta(central, epsilon, n) == pytest.approx(expected, rel=1e-9)
    assert shuffled_delta(epsilon, epsilon, n) == 0


@pytest.mark.parametrize(("epsilon", "n", "delta"), [(0, 10, 0.1), (1, 0, 0.1), (1, 10, 1)])
def test_refuses_what_nothing_hides_in(epsilon: float, n: int, delta: float) -> None:
    """No epsilon, no reports, or a delta of 1 is an error that says so."""
    with pytest.raises(ValueError, match="epsilon, n and 1 / delta"):
        amplified(epsilon, n, delta)


def test_computed_numbers_are_reproduced() -> None:
    """Y10, Y13 and Y14 come out to the digits published."""
    computed = [*measure_shuffling(), *measure_numbers(), *measure_two_rounds()]
    assert [one.name for one in computed] == ["Y10"] * 2 + ["Y13"] * 2 + ["Y14"] * 6
    for one in computed:
        assert one.reproduced, one.what
        assert one.published is None or one.measured == pytest.approx(one.published, rel=3e-3)


@pytest.mark.slow
def test_drawn_numbers_are_reproduced() -> None:
    """Y15 and Y18 with few runs are within five standard errors of what is predicted."""
    (fakes,) = measure_poisoning(12)
    assert fakes.reproduced
    assert fakes.predicted == pytest.approx(fakes.published, rel=1e-3)
    trees = list(measure_hierarchy(60))
    assert all(one.reproduced for one in trees)
    assert 2.9 < min(one.predicted for one in trees) < max(one.predicted for one in trees) < 4.6


def test_variances_of_numbers() -> None:
    """The integrated variances are those of formulas, section 3."""
    for epsilon, found in ((1, (4.683, 3.682, 5.224, 4.289)), (4, (1.076, 0.0848, 0.2414, 0.2190))):
        laws = duchi(epsilon, 0), piecewise(epsilon, 0), piecewise(epsilon, 1), hybrid(epsilon, 1)
        assert laws == pytest.approx(found, rel=1e-3)


def test_constraints_are_least_squares() -> None:
    """The two passes give what solving the normal equations gives, and its variance."""
    tree = Tree(3, 3, 27 * 40, 1.0)
    levels = tree.draw(np.random.default_rng(1))
    rows = [
        np.kron(np.eye(3**level), np.ones(3 ** (3 - level))) / tree.variance(level) ** 0.5
        for level in range(1, 4)
    ]
    design = np.vstack(rows)
    seen = np.concatenate([y / tree.variance(i + 1) ** 0.5 for i, y in enumerate(levels)])
    # The root is known: solve on the leaves that add up to nothing.
    free = np.vstack([np.eye(26), -np.ones(26)])
    solved = free @ np.linalg.lstsq(design @ free, seen, rcond=None)[0]
    assert constrained(tree, levels) == pytest.approx(solved, abs=1e-12)
    covariance = free @ np.linalg.inv(free.T @ design.T @ design @ free) @ free.T
    assert constrained_variance(tree, 4, 17) == pytest.approx(covariance[4:17, 4:17].sum())


@pytest.mark.parametrize(("start", "stop"), [(0, 27), (4, 17), (5, 6), (9, 18), (3, 3)])
def test_cover_is_the_range(start: int, stop: int) -> None:
    """The nodes of a cover are the range's leaves, each once."""
    leaves = [
        leaf
        for level, first, last in cover(Tree(3, 3, 27, 1.0), start, stop)
        for leaf in range(first * 3 ** (3 - level), last * 3 ** (3 - level))
    ]
    assert sorted(leaves) == list(range(start, stop))
