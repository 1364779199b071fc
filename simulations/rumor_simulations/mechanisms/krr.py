"""k-ary randomised response: the truth with p - q, else any of the k answers, the truth included.

(p - q) + q = p for the value and q for every other, so the mixture is the mechanism's law, and the
answers of the second kind fall uniformly whatever the values.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_simulations.draws import integers, log_ratio, scored, uniform_counts
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.report_kinds import NumberReports
from rumor_simulations.mechanisms.scaled_metric import scaled_to
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


class KrrModel(Part[Krr], NumberReports, PopulationModel):
    """Plays populations under k-ary randomized response."""

    takes = Krr

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw how often each answer came."""
        mechanism = self.mechanism
        held = population.in_domain(self.metric)
        kept = rng.binomial(held, float(mechanism.p - mechanism.q))
        n = int(held.sum())
        counts = kept + uniform_counts(n - int(kept.sum()), len(held), rng)
        return Tally(np.array([n]), counts[None, :])

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return ln(p / q) where the answer is the text, else 0."""
        mechanism = self.mechanism
        own = np.array([self.metric.indices[text] for text in texts])
        return scored(log_ratio(mechanism.p / mechanism.q), integers(payloads)[:, None] == own)

    def chance(self, number: int, text: str, cohort: int) -> Fraction:
        """Return p of the device's own value, q of each other."""
        mechanism = self.mechanism
        return mechanism.p if number == self.metric.indices[text] else mechanism.q

    def scaled_metric(self) -> Metric:
        """Return the metric at its epsilon over 4 values."""
        return scaled_to(self.metric, 4)
