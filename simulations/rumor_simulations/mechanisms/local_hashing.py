"""Local hashing: the value's own cell with p less a lie's q, else any cell of the cohort.

Cohort and cell of the second kind are uniform together, so only devices of the first kind are
hashed.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.local_hashing import LocalHashing
from rumor_shared.metric import Metric
from rumor_simulations.cohort_hashes import CohortHashes
from rumor_simulations.crowd import Counts, Crowd, Floats, Octets
from rumor_simulations.draws import add_at, integers, log_ratio, scatter, scored, uniform_counts


def crowd_tally(metric: Metric, crowd: Crowd, rng: np.random.Generator) -> Tally:
    """Draw how often each cell of each cohort came."""
    mechanism = cast(LocalHashing, metric.mechanism)
    cohorts, g = mechanism.cohorts, mechanism.hash_range
    kept = rng.binomial(crowd.counts, float(mechanism.p - mechanism.lie))
    cells = uniform_counts(crowd.n - int(kept.sum()), cohorts * g, rng)
    hashes = CohortHashes(metric, crowd.texts, g)
    for value, cohort, devices in scatter(kept, cohorts, rng):
        add_at(cells, cohort * g + hashes.cells(value, cohort)[:, 0], devices)
    counts = cells.reshape(cohorts, g)
    return Tally(counts.sum(axis=1), counts)


def evidence(metric: Metric, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
    """Return ln(p / q) where the answer is the text's cell in its cohort, else 0."""
    mechanism = cast(LocalHashing, metric.mechanism)
    hashes = CohortHashes(metric, texts, mechanism.hash_range)
    own = hashes.cells(np.arange(len(texts)), cohorts[:, None])[..., 0]
    weight = log_ratio(mechanism.p / mechanism.lie)
    return scored(weight, integers(payloads)[:, None] == own)


def twin(metric: Metric) -> Metric:
    """Return the metric itself: an answer has few outcomes whatever the domain."""
    return metric
