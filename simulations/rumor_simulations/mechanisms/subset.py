"""Subset selection: a set that holds the value with a, else any set of w values.

a = (p - w/k) / (1 - w/k), so the value is in the set with a + (1 - a) w/k = p.

The counts of all values are drawn column by column. While values remain to be decided, a report is
known by how many members it still lacks: it takes the next of m values with probability
(lacking)/m, and the reports that lack equally many are one binomial. A report of the first kind
holds its own value for certain and chooses the others among those that remain but its own. How
much it lacks does not depend on which value is its own until that value comes, so the reports whose
own value is next are a uniform draw from all that wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.subset import Subset
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_simulations.draws import bit_matrix, log_ratio, scored
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.scaled_metric import scaled_to
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


class SubsetModel(Part[Subset], PopulationModel):
    """Plays populations under subset selection."""

    takes = Subset

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw in how many sets each value was."""
        mechanism = self.mechanism
        held = population.in_domain(self.metric)
        k, w, n = len(held), mechanism.size, int(held.sum())
        by_chance = Fraction(w, k)
        holds = rng.binomial(held, float((mechanism.p - by_chance) / (1 - by_chance)))
        # Reports by how many members they lack, apart from their own value.
        waiting = np.zeros(w + 1, dtype=np.int64)
        waiting[w - 1] = holds.sum()
        others = np.zeros(w + 1, dtype=np.int64)
        others[w] = n - waiting[w - 1]
        lacking = np.arange(w + 1)
        counts = np.empty(k, dtype=np.int64)
        for value in range(k):
            own = rng.multivariate_hypergeometric(waiting, holds[value], method="marginals")
            waiting -= own
            left = k - value
            taken_waiting = _take(waiting, lacking / max(1, left - 1), rng)
            taken_others = _take(others, lacking / left, rng)
            counts[value] = holds[value] + taken_waiting + taken_others
            others += own
        return Tally(np.array([n]), counts[None, :])

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return ln(p (k - w) / ((1 - p) w)) where the text is in the set, else 0."""
        mechanism = self.mechanism
        p, w, k = mechanism.p, mechanism.size, len(mechanism.values)
        own = np.array([self.metric.indices[text] for text in texts])
        if mechanism.listed:
            wide = payloads.reshape(len(payloads), w, mechanism.index_bytes).astype(np.int64)
            members = wide @ np.int64(256) ** np.arange(mechanism.index_bytes, dtype=np.int64)
            inside = (members[:, :, None] == own).any(axis=1)
        else:
            inside = bit_matrix(payloads, k)[:, own]
        return scored(log_ratio(p * (k - w) / ((1 - p) * w)), inside)

    def chances(self, text: str, cohort: int) -> dict[bytes, Fraction]:
        """Return an equal part of p for each set that holds the value, of 1 - p for each other."""
        mechanism = self.mechanism
        k, w, own = len(mechanism.values), mechanism.size, self.metric.indices[text]
        inside = mechanism.p / comb(k - 1, w - 1)
        outside = (1 - mechanism.p) / comb(k - 1, w)
        return {
            mechanism.encode(set(members)): inside if own in members else outside
            for members in combinations(range(k), w)
        }

    def scaled_metric(self) -> Metric:
        """Return the metric at its epsilon over 5 values."""
        return scaled_to(self.metric, 5)

    def forged(self, count: int, rng: np.random.Generator) -> list[bytes]:
        """Return `count` payloads, every set equally likely."""
        k, w = len(self.mechanism.values), self.mechanism.size
        return [self.mechanism.encode(set(rng.permutation(k)[:w].tolist())) for _ in range(count)]

    def supporting(
        self, targets: Sequence[str], count: int, rng: np.random.Generator, *, hidden: bool
    ) -> list[bytes]:
        """Return sets of as many targets as fit, filled up with others; all have one weight."""
        mechanism = self.mechanism
        own = [self.metric.indices[target] for target in targets]
        others = np.setdiff1d(np.arange(len(mechanism.values)), own)
        made = []
        for _ in range(count):
            inside = rng.permutation(own)[: mechanism.size].tolist()
            filled = rng.permutation(others)[: mechanism.size - len(inside)].tolist()
            made.append(mechanism.encode({*inside, *filled}))
        return made


def _take(reports: Counts, probability: Floats, rng: np.random.Generator) -> int:
    """Let each report take the next value; return how many did, which now lack one less."""
    some = np.flatnonzero(reports)
    taken = rng.binomial(reports[some], np.minimum(probability[some], 1))
    reports[some] -= taken
    # A report that lacks nothing takes nothing, so no index falls below 0.
    reports[some - 1] += taken
    return int(taken.sum())
