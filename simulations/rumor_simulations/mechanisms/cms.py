"""Count mean sketch: independent bits in a cohort (cms), or a true sign with 2p - 1 (hcms).

In cms a count is Bin(with, p) + Bin(without, 1 - p). In hcms an answer is the entry's sign with
2p - 1 and else a fair coin; coins fall uniformly over cohorts, rows and signs.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.cms import CountMeanSketch
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_shared.probability import ONE
from rumor_simulations.cohort_hashes import CohortHashes
from rumor_simulations.draws import (
    add_at,
    bit_matrix,
    integers,
    log_ratio,
    one_by_one,
    parity,
    scatter,
    scored,
    uniform_counts,
)
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.report_kinds import bit_chances
from rumor_simulations.mechanisms.scaled_metric import SCALED_COHORTS
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


class CountMeanSketchModel(Part[CountMeanSketch], PopulationModel):
    """Plays populations under count mean sketch and its Hadamard form."""

    takes = CountMeanSketch

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw how often each bit, or each row and sign, came in each cohort."""
        mechanism = self.mechanism
        hashes = CohortHashes(self.metric, population.texts, mechanism.columns)
        draw = _signs if mechanism.hadamard else _bits
        return draw(mechanism, hashes, population, rng)

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return 2 ln(p / (1 - p)) where the text's bit is set, once that where the sign fits."""
        mechanism = self.mechanism
        hashes = CohortHashes(self.metric, texts, mechanism.columns)
        column = hashes.cells(np.arange(len(texts)), cohorts[:, None])[..., 0]
        weight = log_ratio(Fraction(mechanism.keep, ONE - mechanism.keep))
        if not mechanism.hadamard:
            reported = bit_matrix(payloads, mechanism.columns)
            return scored(2 * weight, reported[np.arange(len(payloads))[:, None], column])
        answers = integers(payloads)[:, None]
        negative = parity((answers >> 1) & column)
        return scored(weight, negative == (answers & 1))

    def chances(self, text: str, cohort: int) -> dict[bytes, Fraction]:
        """Return the law of m independent bits, or of a uniform row with a sign kept with p."""
        mechanism = self.mechanism
        p, m = mechanism.p, mechanism.columns
        column = mechanism.column_of(hash_bytes(text.encode()), self.metric.key, cohort)
        if not mechanism.hadamard:
            return bit_chances(m, (column,), p, 1 - p)
        law = {}
        for number in range(2 * m):
            row, negative = divmod(number, 2)
            kept = (row & column).bit_count() % 2 == negative
            law[number.to_bytes(mechanism.payload_bytes, "little")] = (p if kept else 1 - p) / m
        return law

    def scaled_metric(self) -> Metric:
        """Return the metric with its probabilities over at most four columns and a few cohorts."""
        columns = min(4, self.mechanism.columns)
        few = min(SCALED_COHORTS, self.mechanism.cohort_count)
        return replace(
            self.metric, mechanism=replace(self.mechanism, columns=columns, cohort_count=few)
        )


def _bits(
    mechanism: CountMeanSketch,
    hashes: CohortHashes,
    population: PopulationCounts,
    rng: np.random.Generator,
) -> Tally:
    cohorts, columns = mechanism.cohorts, mechanism.columns
    cells = np.zeros(cohorts * columns, dtype=np.int64)
    for value, cohort, devices in scatter(population.counts, cohorts, rng):
        add_at(cells, cohort * columns + hashes.cells(value, cohort)[:, 0], devices)
    with_bit = cells.reshape(cohorts, columns)
    members = with_bit.sum(axis=1)
    counts = rng.binomial(with_bit, mechanism.keep / ONE)
    counts += rng.binomial(members[:, None] - with_bit, (ONE - mechanism.keep) / ONE)
    return Tally(members, counts)


def _signs(
    mechanism: CountMeanSketch,
    hashes: CohortHashes,
    population: PopulationCounts,
    rng: np.random.Generator,
) -> Tally:
    cohorts, columns = mechanism.cohorts, mechanism.columns
    kept = rng.binomial(population.counts, float(2 * mechanism.p - 1))
    cells = uniform_counts(population.n - int(kept.sum()), cohorts * 2 * columns, rng)
    for value in one_by_one(kept):
        cohort = rng.integers(cohorts, size=len(value))
        row = rng.integers(columns, size=len(value))
        negative = parity(row & hashes.cells(value, cohort)[:, 0])
        places = (cohort * columns + row) * 2 + negative
        cells += np.bincount(places, minlength=len(cells))
    counts = cells.reshape(cohorts, 2 * columns)
    return Tally(counts.sum(axis=1), counts)
