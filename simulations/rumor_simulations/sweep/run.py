"""Run the settings of a sweep on all cores, each from a seed of its own."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np

from rumor_simulations.sweep.experiments import Measure
from rumor_simulations.sweep.setting import Setting

Row = dict[str, Any]


def run(
    settings: Sequence[Setting],
    measure: Measure,
    seed: int,
    processes: int = 1,
    on_done: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Measure every setting; return the rows in the order of the settings.

    A row depends on `seed` and its own setting alone: not on the number of processes, nor on which
    other settings are run. `on_done` is called after each setting.
    """
    if processes == 1:
        found = []
        for setting in settings:
            found.append(measure(setting, seed_of(seed, setting)))
            on_done()
        return [row for rows in found for row in rows]
    with ProcessPoolExecutor(processes) as pool:
        jobs = [pool.submit(measure, setting, seed_of(seed, setting)) for setting in settings]
        try:
            for job in as_completed(jobs):
                job.result()
                on_done()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [row for job in jobs for row in job.result()]


def seed_of(seed: int, setting: Setting) -> np.random.SeedSequence:
    """Return the seed of one setting."""
    return np.random.SeedSequence([seed, zlib.crc32(repr(setting).encode())])
