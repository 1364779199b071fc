"""What devices truly hold: values with weights, drawn from a seed so that a run can be repeated.

Only populations have a seed. The noise of the devices that play them comes from the operating
system, so two runs with one seed share their truth and not their reports.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rumor_shared.metric import Metric

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Octets = NDArray[np.uint8]

V = TypeVar("V", bound=Hashable)
W = TypeVar("W", bound=Hashable)


@dataclass(frozen=True)
class Population(Generic[V]):
    """Values and how common each is. `weights` are positive and need not sum to 1."""

    values: tuple[V, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, weighted: Iterable[tuple[V, float]]) -> Population[V]:
        """Build a population from pairs of value and weight; a repeated value's weights add.

        Values come out with the commonest first, ties in the order they came. Raises ValueError
        if there is none, or if a weight is not a positive finite number.
        """
        total: Counter[V] = Counter()
        for value, weight in weighted:
            if not (weight > 0 and math.isfinite(weight)):
                raise ValueError("a weight of a population is a positive finite number")
            total[value] += weight  # type: ignore[assignment]  # a Counter adds floats as well
        if not total:
            raise ValueError("a population needs at least one value")
        ranked = total.most_common()
        return cls(tuple(v for v, _ in ranked), tuple(float(w) for _, w in ranked))

    @property
    def shares(self) -> Mapping[V, float]:
        """Share of each value, summing to 1, the commonest first."""
        total = math.fsum(self.weights)
        return {v: w / total for v, w in zip(self.values, self.weights, strict=True)}

    def grouped(self, key: Callable[[V], W]) -> Population[W]:
        """Return the population of `key(value)`: weights of values that fall together add."""
        return Population.of((key(v), w) for v, w in zip(self.values, self.weights, strict=True))

    def draw(self, devices: int, rng: random.Random) -> list[V]:
        """Return the values of `devices` devices, drawn independently by weight."""
        return rng.choices(self.values, self.weights, k=devices)


@dataclass(frozen=True, eq=False)
class PopulationCounts:
    """How many devices hold each text: `counts` int64 (texts,). The texts are canonical."""

    texts: tuple[str, ...]
    counts: Counts

    @classmethod
    def of(cls, held: Mapping[str, int]) -> PopulationCounts:
        """Build a population from the number of devices that hold each text."""
        return cls(tuple(held), np.array(list(held.values()), dtype=np.int64))

    @classmethod
    def drawn(
        cls, population: Population[str], devices: int, rng: np.random.Generator
    ) -> PopulationCounts:
        """Draw the values of `devices` devices independently by weight."""
        shares = np.array(population.weights)
        return cls(population.values, rng.multinomial(devices, shares / shares.sum()))

    @property
    def n(self) -> int:
        """How many devices there are."""
        return int(self.counts.sum())

    @property
    def shares(self) -> Floats:
        """True share of each text."""
        return self.counts / self.n

    def in_domain(self, metric: Metric) -> Counts:
        """Return how many devices hold each value of a closed domain, in the domain's order.

        Raises ValueError for a text outside the domain.
        """
        counts = np.zeros(len(metric.indices), dtype=np.int64)
        for text, count in zip(self.texts, self.counts, strict=True):
            if text not in metric.indices:
                raise ValueError(
                    f"metric {metric.name!r}: a text of the population is not in `values`"
                )
            counts[metric.indices[text]] += count
        return counts
