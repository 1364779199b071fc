"""Devices at play: the real client, a state in memory, and an upload over HTTP for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial

from rumor_client import Client, MemoryState
from rumor_shared.registry import Registry, parse_registry
from rumor_shared.wire import Verdict
from rumor_simulations.demo.scenario import Answers

# Devices of one process that wait for the collector at the same time. The collector commits what
# waits in one go, so a few at once cost it hardly more than one.
_THREADS = 4
# A collector that was killed and started again is back long before.
_UPLOAD_SECONDS = 120.0
# A person's wish not to be tracked, or an administrator's, says nothing of devices made up here.
_NO_ENVIRONMENT: dict[str, str] = {}
_NO_POLICY = ""


class DeviceFailed(RuntimeError):
    """A device could not record an answer, or its reports were not acknowledged."""


@dataclass
class Played:
    """What came of devices that played.

    `recorded` counts, for each metric, how many devices recorded each value: the truth.
    `acknowledged` counts, for each metric, the reports that the collector said it accepted.
    """

    devices: int = 0
    recorded: dict[str, Counter[str]] = field(default_factory=dict)
    acknowledged: Counter[str] = field(default_factory=Counter)

    def add(self, other: Played) -> None:
        """Count what came of other devices too."""
        self.devices += other.devices
        self.acknowledged += other.acknowledged
        for metric, counts in other.recorded.items():
            self.recorded.setdefault(metric, Counter()).update(counts)


def play_devices(registry: bytes, url: str, devices: Sequence[Answers]) -> Played:
    """Play some devices, a few at a time. Raises DeviceFailed."""
    play_one = partial(_play_one, _parsed(registry), url)
    total = Played()
    with ThreadPoolExecutor(_THREADS) as pool:
        for played in pool.map(play_one, devices):
            total.add(played)
    return total


def _play_one(registry: Registry, url: str, answers: Answers) -> Played:
    played = Played(devices=1)
    with Client(
        registry,
        url,
        state=MemoryState(),
        background=False,
        environ=_NO_ENVIRONMENT,
        policy=_NO_POLICY,
    ) as client:
        client.consent.grant()
        for metric, value in answers.items():
            result = client.record(metric, value)
            if not result.recorded:
                raise DeviceFailed(f"a device could not record: {result}")
            played.recorded[metric] = Counter((registry.metric(metric).text_of(value),))
        flushed = client.flush(_UPLOAD_SECONDS)
        counted = {Verdict.ACCEPTED, Verdict.DUPLICATE}
        played.acknowledged.update(
            sent.report.metric for sent in client.sent() if sent.verdict in counted
        )
    if flushed.delivered != len(answers):
        raise DeviceFailed(
            f"{flushed.delivered} of a device's {len(answers)} reports were acknowledged: "
            f"{flushed.detail or flushed.status}"
        )
    return played


@cache
def _parsed(registry: bytes) -> Registry:
    return parse_registry(registry)
