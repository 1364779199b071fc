"""Tallies of RAPPOR reports, drawn from the integers of its parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.server.statistics.mechanisms.statistics_contract import ONE, Counts

from rumor_server.statistics.tally import Tally
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric


def filters(metric: Metric, texts: list[str]) -> NDArray[np.bool_]:
    """Which Bloom bits each text sets in each cohort, bool (texts, cohorts, bits)."""
    mechanism = parameters(metric)
    owned = np.zeros((len(texts), mechanism.cohorts, mechanism.bits), dtype=np.bool_)
    for i, text in enumerate(texts):
        value = hash_bytes(text.encode())
        for cohort in range(mechanism.cohorts):
            owned[i, cohort, list(mechanism.bloom_bits(value, metric.key, cohort))] = True
    return owned


def draw(metric: Metric, owned: NDArray[np.bool_], have: Counts, rng: np.random.Generator) -> Tally:
    """Let `have` (texts,) devices join a cohort each and send one report each."""
    mechanism = parameters(metric)
    shares = np.full(mechanism.cohorts, 1 / mechanism.cohorts)
    devices = np.array([rng.multinomial(count, shares) for count in have])
    reports = devices.sum(axis=0)
    set_bits = np.einsum("vc,vcb->cb", devices, owned)
    clear_bits = reports[:, None] - set_bits
    half_f = mechanism.half_f / ONE
    kept = rng.binomial(set_bits, 1 - half_f) + rng.binomial(clear_bits, half_f)
    ones = rng.binomial(kept, mechanism.q_set / ONE)
    ones += rng.binomial(reports[:, None] - kept, mechanism.p_set / ONE)
    return Tally(reports, ones)


def expected(metric: Metric, owned: NDArray[np.bool_], have: Counts) -> Tally:
    """The tally without noise: devices evenly over cohorts, each count its expectation, rounded."""
    mechanism = parameters(metric)
    devices = have // mechanism.cohorts
    reports = np.full(mechanism.cohorts, devices.sum())
    set_bits = np.einsum("v,vcb->cb", devices, owned)
    q, p = float(mechanism.q_star), float(mechanism.p_star)
    ones = np.rint(set_bits * q + (reports[:, None] - set_bits) * p).astype(np.int64)
    return Tally(reports, ones)


def parameters(metric: Metric) -> Rappor:
    """The parameters of a RAPPOR metric."""
    assert isinstance(metric.mechanism, Rappor)
    return metric.mechanism
