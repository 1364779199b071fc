"""Devices at play on all cores: real clients, each with a state in memory and an upload."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache, partial

from rumor_client import Client, MemoryState
from rumor_shared.registry import Registry, parse_registry
from rumor_shared.wire import Verdict
from rumor_simulations.demo.collector import HOST
from rumor_simulations.demo.scenario import Answers, Scenario

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


# Devices that a process plays before it says so: the step of the progress bar.
_STEP = 200


def play(
    scenario: Scenario, url: str, processes: int, on_progress: Callable[[int], object]
) -> Played:
    """Play every device of a scenario against the collector at `url`; return what came of it.

    `on_progress` hears how many devices were done since it was last called. Raises DeviceFailed
    when a device could not record or upload what it should.
    """
    devices = scenario.devices
    steps = [devices[start : start + _STEP] for start in range(0, len(devices), _STEP)]
    # Spawned: a forked copy of a process with threads may start with a lock held for ever.
    context = multiprocessing.get_context("spawn")
    total = Played()
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin) as pool:
        try:
            waiting = [pool.submit(play_devices, scenario.registry, url, step) for step in steps]
            for done in as_completed(waiting):
                played = done.result()
                total.add(played)
                on_progress(played.devices)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return total


def _begin() -> None:
    # Ctrl-C is for the process that started the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The collector is on this machine, whatever proxy leads out of it.
    os.environ["no_proxy"] = HOST
