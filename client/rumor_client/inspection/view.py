"""The view of single reports for the owner: bytes, bits, and what they say, which is not the
truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bitarray import bitarray

from rumor_client.perturbation.mechanisms.table import perturber
from rumor_client.state.report import Report, Sent, Waiting
from rumor_shared.registry import Registry

WAITING = "waiting"


@dataclass(frozen=True)
class Seen:
    """One report as its owner sees it.

    `state` is "waiting", the collector's verdict with its reason, or "unconfirmed" where the report
    left the device and no answer came. `bits` are the payload's, bit 0 first. `meaning` is what the
    payload says, for instance "bit 17 of 128 set": a perturbed answer, not the device's.
    """

    state: str
    report: Report = field(repr=False)
    bits: str = field(repr=False)
    meaning: str = field(repr=False)

    def __str__(self) -> str:
        report = self.report
        return "\n".join(
            [
                f"{report.day}  {report.metric} revision {report.revision}: {self.state}",
                f"  says     {self.meaning}",
                f"  payload  {report.payload.hex()}  cohort {report.cohort}",
                f"  bits     {self.bits}",
                f"  id       {report.id.hex()}",
            ]
        )


def seen(registry: Registry, waiting: Iterable[Waiting], sent: Iterable[Sent]) -> list[Seen]:
    """Return every report, those that wait first."""
    found = [_seen(registry, WAITING, item.report) for item in waiting]
    for report, verdict, reason in sent:
        state = "unconfirmed" if verdict is None else verdict.value
        found.append(_seen(registry, f"{state} ({reason})" if reason else state, report))
    return found


def _seen(registry: Registry, state: str, report: Report) -> Seen:
    return Seen(state, report, _bits(report.payload).to01(), meaning(registry, report))


def meaning(registry: Registry, report: Report) -> str:
    """Return what a report says, in words."""
    metric = registry.metrics.get(report.metric)
    if metric is None or metric.revision != report.revision:
        return "something that this registry no longer describes"
    return perturber(metric).meaning(report.payload)


def _bits(payload: bytes) -> bitarray:
    bits = bitarray(endian="little")
    bits.frombytes(payload)
    return bits
