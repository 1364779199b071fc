"""Audit one mechanism of one metric: by enumeration, and by attack on many devices."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from rumor_client import Client
from rumor_shared.epsilon import MICRO
from rumor_shared.errors import IncompleteMechanism
from rumor_shared.metric import Metric
from rumor_simulations.audit.certificate import OPEN_TEXTS, Certificate, certify
from rumor_simulations.audit.device import Maker, WrongStream
from rumor_simulations.audit.events import WorstEvent
from rumor_simulations.audit.exact_law import UndeclaredChance
from rumor_simulations.audit.loss import Loss, measure_loss
from rumor_simulations.audit.trials import Trials, WrongLength

# Each printed bound is wrong with at most this probability.
ALPHA = 0.01
# A breach is called where an honest client would be called one with at most this probability.
FALSE_ALARM = 1e-6
# Devices of each text by which a pair of texts is chosen that hashes keep apart.
_PILOT = 500

REPORT = "one report"
PERMANENT = "one value"


@dataclass(frozen=True)
class Finding:
    """What the audit says of one claim of one metric; epsilons are in units of 1.

    `low` and `high` hold the loss of the worst event with probability 1 - 2 ALPHA; `certificate` is
    the enumeration, or why there is none. `fault` says why the claim is false, None if it stands.
    """

    metric: str
    mechanism: str
    claim: str
    declared: float
    trials: int
    low: float | None
    high: float | None
    certificate: Certificate | str
    fault: str | None

    @property
    def proved(self) -> bool:
        """Whether the claim was enumerated and stands."""
        return self.fault is None and not isinstance(self.certificate, str)

    @property
    def tightness(self) -> float | None:
        """The lower bound as a share of what is declared."""
        return None if self.low is None else self.low / self.declared


def audit_metric(
    metric: Metric, trials: int, *, maker: Maker = Client, pool: Executor | None = None
) -> list[Finding]:
    """Audit what one report costs and, where answers are permanent, what all of them cost.

    `maker` makes the client whose `record` is enumerated. Then `trials` devices of each of two
    values answer by the function that `record` calls; 0 only enumerates. `pool` runs the two values
    side by side.
    """
    claims = (False, True) if metric.mechanism.memoised else (False,)
    try:
        proved = certify(metric, maker)
    except (UndeclaredChance, WrongStream, IncompleteMechanism) as error:
        # What can't be enumerated for this reason is not what was declared.
        return [_finding(metric, trials, str(error), str(error), None, permanent=p) for p in claims]
    certificates: Sequence[Certificate | str] = (
        [proved] * len(claims) if isinstance(proved, str) else proved
    )
    return [
        _audit(metric, certificate, trials, pool, permanent=permanent)
        for certificate, permanent in zip(certificates, claims, strict=True)
    ]


def _audit(
    metric: Metric,
    certificate: Certificate | str,
    trials: int,
    pool: Executor | None,
    *,
    permanent: bool,
) -> Finding:
    loss, fault = None, None
    if trials:
        try:
            pair = _pair(metric)
            loss = measure_loss(metric, pair, trials, permanent=permanent, pool=pool)
            fault = _measured_fault(loss, _declared(metric, permanent=permanent))
        except WrongLength as error:
            fault = str(error)
    if not isinstance(certificate, str):
        fault = _certain_fault(certificate) or fault
    return _finding(metric, trials, certificate, fault, loss, permanent=permanent)


def _finding(
    metric: Metric,
    trials: int,
    certificate: Certificate | str,
    fault: str | None,
    loss: Loss | None,
    *,
    permanent: bool,
) -> Finding:
    return Finding(
        metric=metric.name,
        mechanism=metric.mechanism.name,
        claim=PERMANENT if permanent else REPORT,
        declared=_declared(metric, permanent=permanent),
        trials=trials,
        low=None if loss is None else loss.low(ALPHA),
        high=None if loss is None else loss.high(ALPHA),
        certificate=certificate,
        fault=fault,
    )


def _declared(metric: Metric, *, permanent: bool) -> float:
    mechanism = metric.mechanism
    infinity = mechanism.epsilon_infinity or 0
    return (infinity if permanent else mechanism.epsilon_report) / MICRO


def _measured_fault(loss: Loss, declared: float) -> str | None:
    low = loss.low(FALSE_ALARM / 2)
    if low > declared:
        return (
            f"gives away epsilon {low:.3f} or more where it declares {declared:g} "
            f"(false alarms: {FALSE_ALARM:g})"
        )
    for rate in loss.supports:
        if rate.wrong(FALSE_ALARM / (2 * len(loss.supports))):
            return (
                f"supports the true value in {rate.hits / rate.trials:.4%} of reports where it "
                f"declares {rate.chance:.4%}, so estimates are wrong "
                f"(false alarms: {FALSE_ALARM:g})"
            )
    return None


def _certain_fault(certificate: Certificate) -> str | None:
    if certificate.epsilon is None:
        return "an output is possible under one value and impossible under another"
    if certificate.breached:
        return (
            f"the exact law costs epsilon {certificate.epsilon / MICRO:g} "
            f"where it declares {certificate.declared / MICRO:g}"
        )
    if certificate.deviation:
        return (
            "the exact law is not the declared one: an output's probability is off by "
            f"{float(certificate.deviation):.3g}, so estimates are wrong"
        )
    return None


def _pair(metric: Metric) -> tuple[str, str]:
    """Return the first and last value, or two of an open domain that hashes keep apart."""
    values = metric.mechanism.values
    if values is not None:
        return values[0], values[-1]
    best, pair = -1, (OPEN_TEXTS[0], OPEN_TEXTS[-1])
    reports = {}
    for text in OPEN_TEXTS:
        blocks = list(Trials(metric, text, _PILOT).run())
        reports[text] = tuple(np.concatenate(part) for part in zip(*blocks, strict=True))
    for value, other in permutations(OPEN_TEXTS, 2):
        payloads, cohorts = reports[value]
        hits = int(WorstEvent(metric, value, other).marks(payloads, cohorts).sum())
        if hits > best:
            best, pair = hits, (value, other)
    return pair
