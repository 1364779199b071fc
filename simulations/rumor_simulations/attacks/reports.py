"""What several reports of one device say about its value: likelihoods over days."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import numpy as np

from rumor_client.perturbation.perturb import Answer
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.probability import ONE
from rumor_simulations.draws import bit_matrix
from rumor_simulations.mechanisms import evidence
from rumor_simulations.population import Counts, Floats, Octets


def arrays(answers: Sequence[Answer]) -> tuple[Octets, Counts]:
    """Return payloads uint8 (reports, bytes) and cohorts int64 (reports,)."""
    octets = np.frombuffer(b"".join(a.payload for a in answers), dtype=np.uint8)
    cohorts = np.array([a.cohort for a in answers], dtype=np.int64)
    return octets.reshape(len(answers), -1), cohorts


def belief(metric: Metric, reports: Sequence[Sequence[Answer]], texts: tuple[str, ...]) -> Floats:
    """Return float64 (devices, texts): the log-likelihood of each text up to a constant of the row.

    `reports` holds equally many answers of each device, all of one unchanging value. Fresh noise
    adds up; where a permanent answer stands before the reports, their sum of bits is judged by the
    mixture over it (an open domain counts one filter bit as independent of the next, as it is).
    """
    days = len(reports[0])
    if metric.mechanism.memoised:
        return _behind_permanent(metric, reports, texts)
    payloads, cohorts = arrays([answer for device in reports for answer in device])
    scores = evidence(metric, payloads, cohorts, texts)
    total: Floats = scores.reshape(len(reports), days, len(texts)).sum(axis=1)
    return total


def _behind_permanent(
    metric: Metric, reports: Sequence[Sequence[Answer]], texts: tuple[str, ...]
) -> Floats:
    mechanism = Rappor.of(metric.mechanism)
    days = len(reports[0])
    payloads, cohorts = arrays([answer for device in reports for answer in device])
    bits = bit_matrix(payloads, mechanism.bits)
    ones = bits.reshape(len(reports), days, mechanism.bits).sum(axis=1)
    gain = _gain(mechanism, days)[ones]
    scores = np.zeros((len(reports), len(texts)))
    of_device = cohorts[::days]
    for i, text in enumerate(texts):
        for cohort in np.unique(of_device).tolist():
            rows = np.flatnonzero(of_device == cohort)
            own = sorted(_filter(metric, text, cohort))
            scores[rows, i] = gain[rows[:, None], own].sum(axis=1)
    return scores


@lru_cache(maxsize=1 << 16)
def _filter(metric: Metric, text: str, cohort: int) -> frozenset[int]:
    mechanism = Rappor.of(metric.mechanism)
    if mechanism.values is not None:
        return frozenset((metric.indices[text],))
    return frozenset(mechanism.filter_bits(text.encode(), metric.key, cohort))


def _gain(mechanism: Rappor, days: int) -> Floats:
    """Return ln P[s ones | Bloom bit 1] - ln P[s ones | Bloom bit 0] for s = 0 to `days`."""
    q, p, flip = mechanism.q_set / ONE, mechanism.p_set / ONE, mechanism.half_f / ONE
    s = np.arange(days + 1)
    ways = np.array([float(comb(days, int(i))) for i in s])
    high = ways * q**s * (1 - q) ** (days - s)
    low = ways * p**s * (1 - p) ** (days - s)
    gain: Floats = np.log((1 - flip) * high + flip * low) - np.log((1 - flip) * low + flip * high)
    return gain
