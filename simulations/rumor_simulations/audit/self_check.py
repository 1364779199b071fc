"""The audit's short form, which `rumor doctor` runs: the entry point `audit` of `rumor.checks`.

It takes seconds, for nothing is sampled: the exact law of each mechanism over few values, and what
the pipeline promises. `rumor audit` attacks at length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rumor_client import Client
from rumor_shared.metric import Metric
from rumor_simulations.audit.device import Maker
from rumor_simulations.audit.mechanism_audit import audit_metric
from rumor_simulations.audit.pipeline import Check, audit_pipeline
from rumor_simulations.audit.plan import standard_metrics

_EPSILONS = ("1",)

Row = tuple[bool, str]


def check() -> list[Row]:
    """Return what was looked at in the installed client: whether it is well, and what it is."""
    return [*check_mechanisms(), *check_pipeline(audit_pipeline())]


def check_mechanisms(
    maker: Maker = Client, metrics: Iterable[Metric | str] | None = None
) -> Iterator[Row]:
    """Yield a row for each mechanism whose law is not the declared one, or one row for all.

    `metrics` are looked at, a small one of each mechanism unless given.
    """
    names, faults = [], []
    for metric in standard_metrics(_EPSILONS) if metrics is None else metrics:
        if isinstance(metric, str):
            faults.append(metric)
            continue
        names.append(metric.mechanism.name)
        for finding in audit_metric(metric, 0, maker=maker):
            # The standard metrics are small enough, so what can't be enumerated has changed.
            why = finding.certificate if isinstance(finding.certificate, str) else finding.fault
            if why:
                faults.append(f"{finding.mechanism}, {finding.claim}: {why}")
    if not faults:
        yield True, f"{len(names)} mechanisms have the law that they declare, by enumeration"
    for fault in faults:
        yield False, f"{fault}: install a sound release, and let no device report until then"


def check_pipeline(checks: Iterable[Check]) -> Iterator[Row]:
    """Yield a row for each promise that is broken, or one for all that are kept."""
    found = list(checks)
    broken = [one for one in found if one.fault]
    if not broken:
        yield True, f"{len(found)} promises of the device are kept, of days, crashes and retries"
    for one in broken:
        yield False, f"{one.promise}: {one.fault}"
