"""RAPPOR: given its cohort and Bloom bits, the bits of a device's first report are independent.

How many devices of a cohort have each Bloom bit is counted; each count of the tally is then
Bin(with, q*) + Bin(without, p*).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.rappor import MIX, Rappor
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_shared.probability import ONE
from rumor_simulations.cohort_hashes import CohortHashes
from rumor_simulations.draws import add_at, bit_matrix, log_ratio, scatter
from rumor_simulations.mechanisms.population_model import MemoisedModel
from rumor_simulations.mechanisms.report_kinds import BitReports, bit_chances
from rumor_simulations.mechanisms.scaled_metric import SCALED_COHORTS
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts

# Values by pairs of (value, cohort) to Bloom bits, int64 (pairs, hashes).
Filters = Callable[[Counts, Counts], Counts]


class RapporModel(Part[Rappor], BitReports, MemoisedModel):
    """Plays populations under RAPPOR and basic RAPPOR."""

    takes = Rappor

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw how often each bit was set in each cohort's first reports."""
        mechanism = self.mechanism
        members, with_bit = self.filled(population, rng)
        without = members[:, None] - with_bit
        counts = rng.binomial(with_bit, float(mechanism.q_star))
        counts += rng.binomial(without, float(mechanism.p_star))
        return Tally(members, counts)

    def filled(
        self, population: PopulationCounts, rng: np.random.Generator
    ) -> tuple[Counts, Counts]:
        """Spread devices over cohorts; return members (cohorts,) and those with each Bloom bit.

        The second is int64 (cohorts, bits).
        """
        mechanism = self.mechanism
        cohorts, bits = mechanism.cohorts, mechanism.bits
        members = np.zeros(cohorts, dtype=np.int64)
        with_bit = np.zeros(cohorts * bits, dtype=np.int64)
        filters = _filters(self.metric, mechanism, population.texts)
        for value, cohort, devices in scatter(population.counts, cohorts, rng):
            add_at(members, cohort, devices)
            found = filters(value, cohort)
            weights = devices[:, None] * _first_of_each(found)
            add_at(with_bit, cohort[:, None] * bits + found, weights)
        return members, with_bit.reshape(cohorts, bits)

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return the log-likelihood of each text, less that of a filter without bits."""
        mechanism = self.mechanism
        high, low = mechanism.q_star, mechanism.p_star
        if_set, if_clear = log_ratio(high / low), log_ratio((1 - high) / (1 - low))
        filters = _filters(self.metric, mechanism, texts)
        reported = bit_matrix(payloads, mechanism.bits)
        rows = np.arange(len(payloads))
        scores = np.empty((len(payloads), len(texts)))
        for i in range(len(texts)):
            found = filters(np.full(len(payloads), i), cohorts)
            each = np.where(reported[rows[:, None], found], if_set, if_clear)
            scores[:, i] = (each * _first_of_each(found)).sum(axis=1)
        return scores

    def chances(self, text: str, cohort: int) -> dict[bytes, Fraction]:
        """Return the law of the bits of a first report, over the permanent answers too."""
        mechanism = self.mechanism
        if mechanism.values is not None:
            own = {self.metric.indices[text]}
        else:
            own = set(mechanism.filter_bits(text.encode(), self.metric.key, cohort))
        return bit_chances(mechanism.bits, own, mechanism.q_star, mechanism.p_star)

    def permanent_metric(self) -> Metric:
        """Return the metric with p = 0 and q = 1: its report is the permanent answer."""
        return replace(self.metric, mechanism=replace(self.mechanism, p_set=0, q_set=ONE))

    def scaled_metric(self) -> Metric:
        """Return the metric with its probabilities over filters of two values' bits plus one."""
        mechanism = self.mechanism
        bits = min(mechanism.bits, 2 * mechanism.hashes + 1)
        few = min(SCALED_COHORTS, mechanism.cohort_count)
        values = mechanism.values[:bits] if mechanism.values is not None else None
        return replace(
            self.metric, mechanism=replace(mechanism, bits=bits, values=values, cohort_count=few)
        )


def _filters(metric: Metric, mechanism: Rappor, texts: tuple[str, ...]) -> Filters:
    if mechanism.values is not None:
        own = np.array([metric.indices[text] for text in texts], dtype=np.int64)
        return lambda value, cohort: own[value][:, None]
    if mechanism.hashing == MIX:
        return CohortHashes(metric, texts, mechanism.bits, mechanism.hashes).cells
    table = np.array(
        [
            [mechanism.filter_bits(text.encode(), metric.key, c) for c in range(mechanism.cohorts)]
            for text in texts
        ],
        dtype=np.int64,
    )
    return lambda value, cohort: table[value, cohort]


def _first_of_each(found: Counts) -> NDArray[np.bool_]:
    """Mark a bit the first time it comes among a value's hashes: a filter sets it once."""
    first = np.ones(found.shape, dtype=np.bool_)
    for later in range(1, found.shape[1]):
        first[:, later] = (found[:, :later] != found[:, later : later + 1]).all(axis=1)
    return first
