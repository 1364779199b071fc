"""What a metric costs who answers, in numbers: reports a day, a life, links between days, fakes.

How far two days of one device's reports can be recognised as one device's is told in bits.

A pseudonym lasts a day, but a kept cohort and a permanent answer last. With B the permanent bit and
S, T two reports of it, independent given B, what T says of S is their mutual information

    I(S; T) = sum over s, t of P[s, t] log2( P[s, t] / (P[s] P[t]) ),

and bits of a filter add up, as does the cohort (log2 of their number). X bits single one device out
of about 2^X that hold the same value (Cover, Thomas, "Elements of Information Theory", 2.3). It
takes someone who sees single reports: the server adds them up and keeps none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rumor_server.statistics.authenticity.checks import fake_shift
from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.probability import as_fraction
from rumor_shared.registry import Registry

# A device that reported more often than this a day would be counted in a budget of thousands.
_MOST_REPORTS = 10_000


@dataclass(frozen=True)
class Costs:
    """What reports of a metric can reveal, in micro-epsilon, and what fakes could do.

    `life` is the most that all reports of a device can cost, and None where nothing bounds it.
    `linking_bits` are shared by reports of two days. `fakes_up` and `fakes_down` are how far one
    fake in a hundred reports can move a share, exact where `fakes_exact`.
    """

    reports_a_day: int
    a_day: int
    life: int | None
    linking_bits: float
    fakes_up: float
    fakes_down: float
    fakes_exact: bool


def costs_of(metric: Metric, registry: Registry, fake_share: float) -> Costs:
    """Return what a metric costs under a registry's budgets."""
    mechanism = metric.mechanism
    most = max(reports_a_day(metric, registry), 1)
    caps = [cap for cap in (metric.lifetime_epsilon, registry.lifetime_epsilon) if cap is not None]
    if mechanism.epsilon_infinity is not None:
        caps.append(mechanism.epsilon_infinity * mechanism.max_values)
    shift = fake_shift(mechanism, fake_share)
    return Costs(
        reports_a_day=most,
        a_day=most * mechanism.epsilon_report,
        life=min(caps, default=None),
        linking_bits=linking_bits(mechanism),
        fakes_up=shift.up,
        fakes_down=shift.down,
        # Behind a regression the bound is that of one cell, which it may give more weight.
        fakes_exact=mechanism.pure,
    )


def reports_a_day(metric: Metric, registry: Registry) -> int:
    """Return how many reports of a metric one device may make a day, by what they cost."""
    cap = min(metric.daily_epsilon, registry.daily_epsilon)
    return min(cap // metric.mechanism.epsilon_report, _MOST_REPORTS)


def linking_bits(mechanism: Mechanism) -> float:
    """Return the bits that reports of two days share; 0 where nothing of a device is kept."""
    if not mechanism.memoised or not isinstance(mechanism, Rappor):
        return 0.0
    half_f, p, q = (
        float(as_fraction(x)) for x in (mechanism.half_f, mechanism.p_set, mechanism.q_set)
    )
    clear = (mechanism.bits - mechanism.hashes) * _shared(half_f, p, q)
    filled = mechanism.hashes * _shared(1 - half_f, p, q)
    return math.log2(mechanism.cohorts) + clear + filled


def _shared(one: float, p: float, q: float) -> float:
    """Return I(S; T) of two reports of a permanent bit that is 1 with probability `one`."""
    said = one * q + (1 - one) * p
    single = (1 - said, said)
    both = one * q * q + (1 - one) * p * p
    joint = ((1 - 2 * said + both, said - both), (said - both, both))
    return sum(
        joint[s][t] * math.log2(joint[s][t] / (single[s] * single[t]))
        for s in (0, 1)
        for t in (0, 1)
        if joint[s][t] > 0
    )
