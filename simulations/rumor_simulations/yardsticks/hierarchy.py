"""Range queries from a tree of histograms, and what its constraints are worth (Y18).

Hay, Rastogi, Miklau, Suciu (2010); under LDP Cormode, Kulkarni, Srivastava (2019). Values 0 to
D - 1 are the leaves of a tree of fanout B; each device reports its node on one level by OUE.
Without constraints a range is the sum of the fewest nodes that cover it. With them, the estimates
of a node and of its children are made one: least squares over all levels, in two passes.

Every level's devices have the population's own shares, so all error is the noise of reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from rumor_simulations.yardsticks.yardstick import Yardstick

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RANGES = 500
_EPSILON = 0.5
# Fanout and height: 4096 leaves each. Every node has the same whole number of devices.
_TREES = ((2, 12), (4, 6), (8, 4))
_DEVICES = 12 * 4096


@dataclass(frozen=True)
class Tree:
    """A tree of `fanout`^`height` leaves over uniform values; `devices` report on each level."""

    fanout: int
    height: int
    devices: int
    epsilon: float

    @property
    def leaves(self) -> int:
        """Number of leaves, D."""
        return int(self.fanout**self.height)

    def variance(self, level: int) -> float:
        """Return the variance of a node's share on a level from 1, by OUE's exact law."""
        p, q = self._rates
        share = 1 / self.fanout**level
        spread = share * p * (1 - p) + (1 - share) * q * (1 - q)
        return float(spread / (self.devices * (p - q) ** 2))

    def draw(self, rng: np.random.Generator) -> list[Floats]:
        """Return the debiased errors of all nodes, level by level from 1."""
        p, q = self._rates
        errors = []
        for level in range(1, self.height + 1):
            nodes = int(self.fanout**level)
            held = self.devices // nodes
            counts = rng.binomial(held, p, nodes) + rng.binomial(self.devices - held, q, nodes)
            shares = (counts / self.devices - q) / (p - q)
            errors.append(shares - held / self.devices)
        return errors

    @property
    def _rates(self) -> tuple[float, float]:
        return 0.5, 1 / (exp(self.epsilon) + 1)

    def subtree_variances(self) -> list[float]:
        """Return the variance of the best estimate of a node from its own subtree, from level 1."""
        found = [self.variance(self.height)]
        for level in range(self.height - 1, 0, -1):
            found.insert(0, 1 / (1 / self.variance(level) + 1 / (self.fanout * found[0])))
        return found


def constrained(tree: Tree, levels: list[Floats]) -> Floats:
    """Return the least-squares errors of the leaves; the root is known."""
    variances = tree.subtree_variances()
    best = [levels[-1]]
    for level in range(tree.height - 1, 0, -1):
        children = best[0].reshape(-1, tree.fanout).sum(axis=1)
        weight = variances[level - 1] / tree.variance(level)
        best.insert(0, weight * levels[level - 1] + (1 - weight) * children)
    node = np.zeros(1)
    for estimate in best:
        siblings = estimate.reshape(-1, tree.fanout)
        apart = siblings - siblings.mean(axis=1, keepdims=True)
        node = (node[:, None] / tree.fanout + apart).ravel()
    return node


def constrained_variance(tree: Tree, start: int, stop: int) -> float:
    """Return the exact variance of the range [start, stop) with constraints.

    Contrasts between siblings are independent: each level's count with the variance of its best
    estimate, times the squared contrasts of how much of the range the siblings hold.
    """
    held = np.zeros(tree.leaves)
    held[start:stop] = 1
    total = 0.0
    for variance in reversed(tree.subtree_variances()):
        siblings = held.reshape(-1, tree.fanout)
        held = siblings.mean(axis=1)
        total += variance * float(np.square(siblings - held[:, None]).sum())
    return total


def cover_variance(tree: Tree, start: int, stop: int) -> float:
    """Return the exact variance of the range [start, stop) without constraints."""
    return sum(
        (last - first) * tree.variance(level) for level, first, last in cover(tree, start, stop)
    )


def cover(tree: Tree, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield the fewest nodes that make up [start, stop), as level, first and last + 1."""
    level = tree.height
    while start < stop:
        inner, outer = -(-start // tree.fanout), stop // tree.fanout
        if level == 1 or inner >= outer:
            yield level, start, stop
            return
        for first, last in ((start, inner * tree.fanout), (outer * tree.fanout, stop)):
            if first < last:
                yield level, first, last
        level, start, stop = level - 1, inner, outer


def measure_hierarchy(runs: int) -> Iterator[Yardstick]:
    """Yield Y18: how many times constraints lower the mean squared error of random ranges."""
    rng = np.random.default_rng(8)
    for fanout, height in _TREES:
        tree = Tree(fanout, height, _DEVICES, _EPSILON)
        ends = np.sort(rng.integers(tree.leaves + 1, size=(_RANGES, 2)), axis=1)
        ranges = [(int(start), int(stop)) for start, stop in ends]
        yield _worth(tree, ranges, runs, rng)


def _worth(
    tree: Tree, ranges: list[tuple[int, int]], runs: int, rng: np.random.Generator
) -> Yardstick:
    free = sum(cover_variance(tree, start, stop) for start, stop in ranges)
    predicted = free / sum(constrained_variance(tree, start, stop) for start, stop in ranges)
    squares = np.array(list(_squares(tree, ranges, runs, rng)))
    without, within = squares.mean(axis=0)
    ratio = float(without / within)
    # Delta method: the two errors of a run go together, and runs are independent.
    apart = squares[:, 0] / without - squares[:, 1] / within
    what = (
        f"times that constraints lower the squared error of ranges, {tree.leaves:,} values, "
        f"fanout {tree.fanout}, oue, epsilon {tree.epsilon:g} (published: 3 to 4)"
    )
    error = ratio * float(apart.std(ddof=1)) / sqrt(runs)
    return Yardstick("Y18", what, predicted, None, ratio, error)


def _squares(
    tree: Tree, ranges: list[tuple[int, int]], runs: int, rng: np.random.Generator
) -> Iterator[tuple[float, float]]:
    """Yield each run's sum of squared errors of all ranges, without and with constraints."""
    for _ in range(runs):
        levels = tree.draw(rng)
        sums = [_sums(level) for level in levels]
        leaves = _sums(constrained(tree, levels))
        without = within = 0.0
        for start, stop in ranges:
            nodes = cover(tree, start, stop)
            without += sum(sums[v - 1][last] - sums[v - 1][first] for v, first, last in nodes) ** 2
            within += (leaves[stop] - leaves[start]) ** 2
        yield float(without), float(within)


def _sums(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))
