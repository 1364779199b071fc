"""Binary randomised response: those who say 1 truly and those who say it falsely, two binomials."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.binary import Binary
from rumor_shared.metric import Metric
from rumor_shared.probability import ONE
from rumor_simulations.crowd import Counts, Crowd, Floats, Octets
from rumor_simulations.draws import integers, log_ratio, scored


def crowd_tally(metric: Metric, crowd: Crowd, rng: np.random.Generator) -> Tally:
    """Draw the number of ones: Bin(n_1, p) + Bin(n_0, 1 - p)."""
    mechanism = cast(Binary, metric.mechanism)
    zeros, ones = crowd.in_domain(metric)
    said = rng.binomial(ones, mechanism.keep / ONE)
    said += rng.binomial(zeros, (ONE - mechanism.keep) / ONE)
    return Tally(np.array([zeros + ones]), np.array([[said]], dtype=np.int64))


def evidence(metric: Metric, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
    """Return ln(p / (1 - p)) where the answer is the text, else 0."""
    mechanism = cast(Binary, metric.mechanism)
    own = np.array([metric.indices[text] for text in texts])
    weight = log_ratio(Fraction(mechanism.keep, ONE - mechanism.keep))
    return scored(weight, integers(payloads)[:, None] == own)


def twin(metric: Metric) -> Metric:
    """Return the metric itself: two values are few."""
    return metric
