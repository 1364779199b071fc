"""Unary encoding: the bits of a report are independent, so each count is a sum of two binomials."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_simulations.draws import bit_matrix, log_ratio, scored
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.report_kinds import BitReports, bit_chances
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


class UnaryModel(Part[Unary], BitReports, PopulationModel):
    """Plays populations under unary encoding, symmetric and optimised."""

    takes = Unary

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw how often each bit was set: Bin(n_v, p) + Bin(n - n_v, q), independently."""
        mechanism = self.mechanism
        held = population.in_domain(self.metric)
        n = int(held.sum())
        counts = rng.binomial(held, float(mechanism.p)) + rng.binomial(n - held, float(mechanism.q))
        return Tally(np.array([n]), counts[None, :])

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return ln(p(1 - q) / (q(1 - p))) where the text's bit is set, else 0."""
        mechanism = self.mechanism
        p, q = mechanism.p, mechanism.q
        own = [self.metric.indices[text] for text in texts]
        weight = log_ratio(p * (1 - q) / (q * (1 - p)))
        return scored(weight, bit_matrix(payloads, len(mechanism.values))[:, own])

    def chances(self, text: str, cohort: int) -> dict[bytes, Fraction]:
        """Return the law of k independent bits."""
        mechanism = self.mechanism
        return bit_chances(mechanism.cells, (self.metric.indices[text],), mechanism.p, mechanism.q)

    def scaled_metric(self) -> Metric:
        """Return the metric with its probabilities over four values."""
        mechanism = self.mechanism
        return replace(self.metric, mechanism=replace(mechanism, values=mechanism.values[:4]))
