"""Projective geometry response: a point orthogonal to the value's own with a, else any point.

a = (p - c_s/K) / (1 - c_s/K), so an orthogonal point comes with a + (1 - a) c_s/K = p, and every
other with equal parts of the rest.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.pgr import Pgr, canonical_vector
from rumor_shared.metric import Metric
from rumor_shared.part import Part
from rumor_simulations.draws import integers, log_ratio, one_by_one, scored, uniform_counts
from rumor_simulations.mechanisms.population_model import PopulationModel
from rumor_simulations.mechanisms.report_kinds import NumberReports
from rumor_simulations.mechanisms.scaled_metric import scaled_to
from rumor_simulations.population import Counts, Floats, Octets, PopulationCounts


class PgrModel(Part[Pgr], NumberReports, PopulationModel):
    """Plays populations under projective geometry response."""

    takes = Pgr

    def tally(self, population: PopulationCounts, rng: np.random.Generator) -> Tally:
        """Draw how often each point came."""
        mechanism = self.mechanism
        held = population.in_domain(self.metric)
        n = int(held.sum())
        by_chance = Fraction(mechanism.orthogonal, mechanism.points)
        kept = rng.binomial(held, float((mechanism.p - by_chance) / (1 - by_chance)))
        counts = uniform_counts(n - int(kept.sum()), mechanism.points, rng)
        vectors = _vectors(mechanism, range(len(held)))
        for value in one_by_one(kept):
            points = _orthogonal(mechanism, vectors[value], rng)
            counts += np.bincount(points, minlength=mechanism.points)
        return Tally(np.array([n]), counts[None, :])

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return ln(p (K - c_s) / ((1 - p) c_s)) where the point is orthogonal to the text's."""
        mechanism = self.mechanism
        p, own = mechanism.p, mechanism.orthogonal
        weight = log_ratio(p * (mechanism.points - own) / ((1 - p) * own))
        answers, place = np.unique(integers(payloads), return_inverse=True)
        products = (
            _vectors(mechanism, answers.tolist())
            @ _vectors(mechanism, [self.metric.indices[text] for text in texts]).T
        )
        return scored(weight, (products % mechanism.field == 0)[place])

    def chance(self, number: int, text: str, cohort: int) -> Fraction:
        """Return an equal part of p for each orthogonal point, of 1 - p for each other."""
        mechanism = self.mechanism
        value, point = (
            canonical_vector(one, mechanism.field, mechanism.dimension)
            for one in (self.metric.indices[text], number)
        )
        if sum(a * b for a, b in zip(value, point, strict=True)) % mechanism.field == 0:
            return mechanism.p / mechanism.orthogonal
        return (1 - mechanism.p) / (mechanism.points - mechanism.orthogonal)

    def scaled_metric(self) -> Metric:
        """Return the metric at its epsilon over four values: a line or plane of its own field."""
        mechanism = self.mechanism
        return scaled_to(self.metric, 4, field=mechanism.field)


def _vectors(mechanism: Pgr, points: range | list[int]) -> Counts:
    r, t = mechanism.field, mechanism.dimension
    return np.array([canonical_vector(point, r, t) for point in points], dtype=np.int64)


def _orthogonal(mechanism: Pgr, values: Counts, rng: np.random.Generator) -> Counts:
    """Draw a uniform point orthogonal to each value (reports, t).

    Its coordinates outside the place of the value's leading 1 are a uniform non-zero vector up to
    scale; the one at that place follows.
    """
    r, t = mechanism.field, mechanism.dimension
    n = len(values)
    outside = rng.integers(r, size=(n, t - 1))
    while len(zero := np.flatnonzero(~outside.any(axis=1))):
        outside[zero] = rng.integers(r, size=(len(zero), t - 1))
    lead = (values != 0).argmax(axis=1)
    # Column j of the point is coordinate j of `outside` before the lead and j - 1 behind it.
    columns = np.arange(t) - (np.arange(t) > lead[:, None])
    point = np.take_along_axis(outside, np.minimum(columns, t - 2), axis=1)
    rows = np.arange(n)
    point[rows, lead] = 0
    point[rows, lead] = -(point * values).sum(axis=1) % r
    return _numbers(point, r)


def _numbers(vectors: Counts, r: int) -> Counts:
    """Return the number of the point that each non-zero vector (reports, t) lies on."""
    t = vectors.shape[1]
    lead = (vectors != 0).argmax(axis=1)
    rows = np.arange(len(vectors))
    inverse = np.array([0] + [pow(x, -1, r) for x in range(1, r)], dtype=np.int64)
    scaled = vectors * inverse[vectors[rows, lead]][:, None] % r
    scaled[rows, lead] = 0
    powers = np.int64(r) ** np.arange(t - 1, -1, -1, dtype=np.int64)
    first = (powers - 1) // (r - 1)
    numbers: Counts = scaled @ powers + first[lead]
    return numbers
