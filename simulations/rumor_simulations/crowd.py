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

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanism import mechanism_module
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


def crowd_tally(metric: Metric, crowd: Crowd, rng: np.random.Generator) -> Tally:
    """Draw the tally of one report from every device of a crowd, each on its first day.

    Its joint law is that of the devices' own reports. For several days of devices that keep
    permanent answers, see `rumor_simulations.sweep.drift`. Raises ModuleNotFoundError for a
    mechanism without a module here: `rumor_simulations.sweep.measures` plays any.
    """
    module = mechanism_module("rumor_simulations", metric.mechanism.name)
    tally: Tally = module.crowd_tally(metric, crowd, rng)
    return tally


def evidence(metric: Metric, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
    """Return how much each report speaks for each text: float64 (reports, texts), in epsilon.

    It is the log-likelihood of the text up to a constant of the report, from the mechanism's exact
    law. `payloads` uint8 (reports, payload_bytes), `cohorts` int64 (reports,).
    """
    module = mechanism_module("rumor_simulations", metric.mechanism.name)
    scores: Floats = module.evidence(metric, payloads, cohorts, texts)
    return scores
