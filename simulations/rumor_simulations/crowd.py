"""A fixed population as counts of devices, and the tally of its reports without playing each one.

A tally is a sum over devices that answer independently, so its joint law follows from how many
devices hold each value. `rumor_simulations.mechanisms.X` draws from that joint law, in time that
grows with cells and at worst with devices, but never with devices times values. What makes it
exact is said in each module; that it is, is tested against the enumerated law of the client's own
code. The integers over 2**64 are the client's; their only rounding here is that of a float64, some
1e-16, which 10^7 devices cannot show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_shared.metric import Metric
from rumor_simulations.population import Population

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Octets = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Crowd:
    """How many devices hold each text: `counts` int64 (texts,). The texts are canonical."""

    texts: tuple[str, ...]
    counts: Counts

    @classmethod
    def of(cls, held: Mapping[str, int]) -> Crowd:
        """Build a crowd from the number of devices that hold each text."""
        return cls(tuple(held), np.array(list(held.values()), dtype=np.int64))

    @classmethod
    def drawn(cls, population: Population[str], devices: int, rng: np.random.Generator) -> Crowd:
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
                raise ValueError(f"metric {metric.name!r}: a text of the crowd is not in `values`")
            counts[metric.indices[text]] += count
        return counts
