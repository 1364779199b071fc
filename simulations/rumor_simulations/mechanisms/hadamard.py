"""Hadamard response: a column of the value's own half with 2p - 1, else any column.

Half of all columns are the value's own, so it is hit with (2p - 1) + (2 - 2p)/2 = p.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.hadamard import Hadamard
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_shared.probability import ONE
from rumor_simulations.draws import integers, log_ratio, one_by_one, parity, scored, uniform_counts
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.report_kinds import NumberReports
from rumor_simulations.mechanisms.scaled_metric import scaled_to
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


class HadamardModel(Part[Hadamard], NumberReports, PopulationModel):
    """Plays populations under Hadamard response."""

    takes = Hadamard

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw how often each column came."""
        mechanism = self.mechanism
        held = population.in_domain(self.metric)
        n = int(held.sum())
        kept = rng.binomial(held, float(2 * mechanism.p - 1))
        counts = uniform_counts(n - int(kept.sum()), mechanism.columns, rng)
        for value in one_by_one(kept):
            row = value + 1
            column = rng.integers(mechanism.columns, size=len(row))
            # Toggling a bit of the row maps the other half one to one onto the value's own.
            column ^= (row & -row) * parity(row & column)
            counts += np.bincount(column, minlength=mechanism.columns)
        return Tally(np.array([n]), counts[None, :])

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return ln(p / (1 - p)) where the column is in the text's half, else 0."""
        mechanism = self.mechanism
        rows = np.array([self.metric.indices[text] + 1 for text in texts])
        weight = log_ratio(Fraction(mechanism.keep, ONE - mechanism.keep))
        return scored(weight, parity(integers(payloads)[:, None] & rows) == 0)

    def chance(self, number: int, text: str, cohort: int) -> Fraction:
        """Return an equal part of p for each column of the value's half, of 1 - p for others."""
        mechanism = self.mechanism
        own = ((self.metric.indices[text] + 1) & number).bit_count() % 2 == 0
        return (mechanism.p if own else 1 - mechanism.p) / (mechanism.columns // 2)

    def scaled_metric(self) -> Metric:
        """Return the metric at its epsilon over 4 values."""
        return scaled_to(self.metric, 4)
