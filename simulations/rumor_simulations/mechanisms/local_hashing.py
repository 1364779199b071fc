"""Local hashing: the value's own cell with p less a lie's q, else any cell of the cohort.

Cohort and cell of the second kind are uniform together, so only devices of the first kind are
hashed.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.local_hashing import LocalHashing
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_simulations.cohort_hashes import CohortHashes
from rumor_simulations.draws import add_at, integers, log_ratio, scatter, scored, uniform_counts
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.report_kinds import NumberReports
from rumor_simulations.mechanisms.scaled_metric import SCALED_COHORTS
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


class LocalHashingModel(Part[LocalHashing], NumberReports, PopulationModel):
    """Plays populations under local hashing."""

    takes = LocalHashing

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw how often each cell of each cohort came."""
        mechanism = self.mechanism
        cohorts, g = mechanism.cohorts, mechanism.hash_range
        kept = rng.binomial(population.counts, float(mechanism.p - mechanism.lie))
        cells = uniform_counts(population.n - int(kept.sum()), cohorts * g, rng)
        hashes = CohortHashes(self.metric, population.texts, g)
        for value, cohort, devices in scatter(kept, cohorts, rng):
            add_at(cells, cohort * g + hashes.cells(value, cohort)[:, 0], devices)
        counts = cells.reshape(cohorts, g)
        return Tally(counts.sum(axis=1), counts)

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return ln(p / q) where the answer is the text's cell in its cohort, else 0."""
        mechanism = self.mechanism
        hashes = CohortHashes(self.metric, texts, mechanism.hash_range)
        own = hashes.cells(np.arange(len(texts)), cohorts[:, None])[..., 0]
        weight = log_ratio(mechanism.p / mechanism.lie)
        return scored(weight, integers(payloads)[:, None] == own)

    def chance(self, number: int, text: str, cohort: int) -> Fraction:
        """Return p of the value's own cell in its cohort, a lie's part of each other."""
        mechanism = self.mechanism
        own = mechanism.cell_of(hash_bytes(text.encode()), self.metric.key, cohort)
        return mechanism.p if number == own else mechanism.lie

    def scaled_metric(self) -> Metric:
        """Return the metric over a few of its cohorts: an answer has few outcomes anyway."""
        few = min(SCALED_COHORTS, self.mechanism.cohort_count)
        return replace(self.metric, mechanism=replace(self.mechanism, cohort_count=few))
