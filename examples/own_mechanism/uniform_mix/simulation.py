"""How a population answers, and what a report gives away, when mixed with a uniform value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_shared.probability import ONE
from rumor_simulations.draws import integers, log_ratio, scored, uniform_counts
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.report_kinds import NumberReports
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts
from uniform_mix.parameters import UniformMix


class UniformMixModel(Part[UniformMix], NumberReports, PopulationModel):
    """Draws tallies from the two binomials that they are the sum of."""

    takes = UniformMix

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw how often each value came."""
        held = population.in_domain(self.metric)
        n = int(held.sum())
        kept = rng.binomial(held, self.mechanism.true / ONE)
        counts = kept + uniform_counts(n - int(kept.sum()), len(held), rng)
        return Tally(np.array([n]), counts[None, :])

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return ln(p / q) where the answer is the text, else 0."""
        p, q = self.mechanism.support()
        own = np.array([self.metric.indices[text] for text in texts])
        return scored(log_ratio(p / q), integers(payloads)[:, None] == own)

    def chance(self, number: int, text: str, cohort: int) -> Fraction:
        """Return p of the device's own value, q of each other."""
        p, q = self.mechanism.support()
        return p if number == self.metric.indices[text] else q

    def scaled_metric(self) -> Metric:
        """Return the metric itself: at most 256 values are few."""
        return self.metric
