"""How much the reports of two days speak for one device behind both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from rumor_client.perturbation.perturb import Answer
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.probability import ONE
from rumor_simulations.attacks.reports import arrays, belief
from rumor_simulations.draws import bit_matrix
from rumor_simulations.population import Counts, Floats

# Stands for impossible where logarithms are added up.
NEVER = -1e6


def sameness(
    metric: Metric,
    before: Sequence[Sequence[Answer]],
    after: Sequence[Sequence[Answer]],
    texts: tuple[str, ...],
) -> Floats:
    """Return float64 (devices before, devices after): the log-likelihood ratio of "the same one".

    With fresh noise only the value links two days: ln sum_v P(v|first) P(v|second) / P(v), values
    being equally likely. A kept cohort and each bit of a permanent answer link them by themselves.
    """
    if metric.mechanism.memoised:
        return _same_permanent(metric, before, after)
    one, other = (_posterior(belief(metric, side, texts)) for side in (before, after))
    joint: Floats = np.log(len(texts) * (one @ other.T))
    return joint


def _posterior(scores: Floats) -> Floats:
    posterior: Floats = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    return posterior


def _same_permanent(
    metric: Metric, before: Sequence[Sequence[Answer]], after: Sequence[Sequence[Answer]]
) -> Floats:
    mechanism = Rappor.of(metric.mechanism)
    (ones, cohorts, days), (more, others, more_days) = (
        _bit_sums(mechanism, side) for side in (before, after)
    )
    # The share of permanent ones, from the mean of all reported bits.
    q, p = mechanism.q_set / ONE, mechanism.p_set / ONE
    mean = (ones.mean() / days + more.mean() / more_days) / 2
    share = float(np.clip((mean - p) / (q - p), 0.01, 0.99))
    score = np.zeros((len(before), len(after)))
    table = np.empty((days + 1, more_days + 1))
    for s in range(days + 1):
        for t in range(more_days + 1):
            high = _binomial(s, days, q), _binomial(t, more_days, q)
            low = _binomial(s, days, p), _binomial(t, more_days, p)
            both = share * high[0] * high[1] + (1 - share) * low[0] * low[1]
            apart = (share * high[0] + (1 - share) * low[0]) * (
                share * high[1] + (1 - share) * low[1]
            )
            table[s, t] = np.log(both / apart)
    for s in range(days + 1):
        for t in range(more_days + 1):
            score += table[s, t] * ((ones == s).astype(float) @ (more == t).astype(float).T)
    if mechanism.cohorts > 1:
        score += np.where(cohorts[:, None] == others, np.log(mechanism.cohorts), NEVER)
    return score


def _bit_sums(mechanism: Rappor, reports: Sequence[Sequence[Answer]]) -> tuple[Counts, Counts, int]:
    days = len(reports[0])
    payloads, cohorts = arrays([answer for device in reports for answer in device])
    bits = bit_matrix(payloads, mechanism.bits).reshape(len(reports), days, mechanism.bits)
    return bits.sum(axis=1), cohorts[::days], days


def _binomial(s: int, n: int, p: float) -> float:
    # Without the number of ways, which cancels in a ratio.
    return float(p**s * (1 - p) ** (n - s))
