"""Unary encoding: the bits of a report are independent, so each count is a sum of two binomials."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric
from rumor_simulations.crowd import Counts, Crowd, Floats, Octets
from rumor_simulations.draws import bit_matrix, log_ratio, scored


def crowd_tally(metric: Metric, crowd: Crowd, rng: np.random.Generator) -> Tally:
    """Draw how often each bit was set: Bin(n_v, p) + Bin(n - n_v, q), independently."""
    mechanism = cast(Unary, metric.mechanism)
    held = crowd.in_domain(metric)
    n = int(held.sum())
    counts = rng.binomial(held, float(mechanism.p)) + rng.binomial(n - held, float(mechanism.q))
    return Tally(np.array([n]), counts[None, :])


def evidence(metric: Metric, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
    """Return ln(p(1 - q) / (q(1 - p))) where the text's bit is set, else 0."""
    mechanism = cast(Unary, metric.mechanism)
    p, q = mechanism.p, mechanism.q
    own = [metric.indices[text] for text in texts]
    weight = log_ratio(p * (1 - q) / (q * (1 - p)))
    return scored(weight, bit_matrix(payloads, len(mechanism.values))[:, own])


def twin(metric: Metric) -> Metric:
    """Return the metric with its probabilities over four values."""
    mechanism = cast(Unary, metric.mechanism)
    return replace(metric, mechanism=replace(mechanism, values=mechanism.values[:4]))
