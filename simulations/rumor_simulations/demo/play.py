"""Play devices on all cores: each is a real client with a state, consent and upload of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed

from rumor_simulations.demo.collector import HOST
from rumor_simulations.demo.device import Played, play_devices
from rumor_simulations.demo.scenario import Scenario

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
