"""Binary randomised response: those who say 1 truly and those who say it falsely, two binomials."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_shared.probability import ONE
from rumor_simulations.draws import integers, log_ratio, scored
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.report_kinds import NumberReports
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


class BinaryModel(Part[Binary], NumberReports, PopulationModel):
    """Plays populations under binary randomized response."""

    takes = Binary

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw the number of ones: Bin(n_1, p) + Bin(n_0, 1 - p)."""
        mechanism = self.mechanism
        zeros, ones = population.in_domain(self.metric)
        said = rng.binomial(ones, mechanism.keep / ONE)
        said += rng.binomial(zeros, (ONE - mechanism.keep) / ONE)
        return Tally(np.array([zeros + ones]), np.array([[said]], dtype=np.int64))

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return ln(p / (1 - p)) where the answer is the text, else 0."""
        mechanism = self.mechanism
        own = np.array([self.metric.indices[text] for text in texts])
        weight = log_ratio(Fraction(mechanism.keep, ONE - mechanism.keep))
        return scored(weight, integers(payloads)[:, None] == own)

    def chance(self, number: int, text: str, cohort: int) -> Fraction:
        """Return p of the device's own answer, 1 - p of the other."""
        p, q = self.mechanism.support()
        return p if number == self.metric.indices[text] else q

    def scaled_metric(self) -> Metric:
        """Return the metric itself: two values are few."""
        return self.metric

    @property
    def outputs(self) -> int:
        """Two answers, though one cell counts them."""
        return 2
