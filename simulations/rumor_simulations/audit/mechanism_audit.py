"""Audit one mechanism of one metric: by enumeration, and by attack on many devices."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from rumor_shared.epsilon import MICRO
from rumor_shared.metric import Metric
from rumor_simulations.audit.certificate import (
    OPEN_TEXTS,
    Certificate,
    certify_permanent,
    certify_report,
)
from rumor_simulations.audit.client import Client, installed_client
from rumor_simulations.audit.events import WorstEvent
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
    def tightness(self) -> float | None:
        """The lower bound as a share of what is declared."""
        return None if self.low is None else self.low / self.declared


def audit_metric(
    metric: Metric, trials: int, *, client: Client | None = None, pool: Executor | None = None
) -> list[Finding]:
    """Audit what one report costs and, where answers are permanent, what all of them cost.

    `trials` devices of each of two values are run with the installed client unless another is
    given; 0 only enumerates. `pool` runs the two values side by side.
    """
    subject = installed_client(metric) if client is None else client
    findings = [_audit(metric, subject, trials, pool, permanent=False)]
    if metric.mechanism.memoised:
        findings.append(_audit(metric, subject, trials, pool, permanent=True))
    return findings


def _audit(
    metric: Metric, client: Client, trials: int, pool: Executor | None, *, permanent: bool
) -> Finding:
    mechanism = metric.mechanism
    infinity = mechanism.epsilon_infinity or 0
    declared = (infinity if permanent else mechanism.epsilon_report) / MICRO
    certify = certify_permanent if permanent else certify_report
    certificate = certify(metric, client)
    loss, fault = None, None
    if trials:
        try:
            pair = _pair(metric, client, permanent=permanent)
            loss = measure_loss(metric, client, pair, trials, permanent=permanent, pool=pool)
        except WrongLength as error:
            fault = str(error)
    if loss is not None:
        fault = _measured_fault(loss, declared)
    if not isinstance(certificate, str) and certificate.breached:
        fault = _certain_fault(certificate)
    return Finding(
        metric=metric.name,
        mechanism=mechanism.name,
        claim=PERMANENT if permanent else REPORT,
        declared=declared,
        trials=trials,
        low=None if loss is None else loss.low(ALPHA),
        high=None if loss is None else loss.high(ALPHA),
        certificate=certificate,
        fault=fault,
    )


def _measured_fault(loss: Loss, declared: float) -> str | None:
    low = loss.low(FALSE_ALARM)
    if low <= declared:
        return None
    return (
        f"gives away epsilon {low:.3f} or more where it declares {declared:g} "
        f"(false alarms: {FALSE_ALARM:g})"
    )


def _certain_fault(certificate: Certificate) -> str:
    if certificate.epsilon is None:
        return "an output is possible under one value and impossible under another"
    return (
        f"the exact law costs epsilon {certificate.epsilon / MICRO:g} "
        f"where it declares {certificate.declared / MICRO:g}"
    )


def _pair(metric: Metric, client: Client, *, permanent: bool) -> tuple[str, str]:
    """Return the first and last value, or two of an open domain that hashes keep apart."""
    values = metric.mechanism.values
    if values is not None:
        return values[0], values[-1]
    best, pair = -1, (OPEN_TEXTS[0], OPEN_TEXTS[-1])
    reports = {}
    for text in OPEN_TEXTS:
        blocks = list(Trials(metric, client, text, _PILOT).run())
        reports[text] = tuple(np.concatenate(part) for part in zip(*blocks, strict=True))
    for value, other in permutations(OPEN_TEXTS, 2):
        payloads, cohorts = reports[value]
        hits = int(WorstEvent(metric, value, other).marks(payloads, cohorts).sum())
        if hits > best:
            best, pair = hits, (value, other)
    return pair
