"""The sweeps: each a list of settings and the function that measures one, run on all cores.

`scale` multiplies the number of runs; it is what `--quick` lowers. Each setting has a seed of its
own.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumor_simulations.sweep.drift import measure_drift
from rumor_simulations.sweep.measures import measure, measure_frontier, measure_opt_in
from rumor_simulations.sweep.setting import MECHANISMS, Setting

Measure = Callable[[Setting, np.random.SeedSequence], list[dict[str, Any]]]
# Filters and sketches take a second to decode; the sweeps over them make fewer runs.
SLOW = ("rappor", "cms", "hcms", "local_hashing")
EPSILONS = ("0.5", "1", "2", "3", "4", "6")


@dataclass(frozen=True)
class Options:
    """What the caller chose for all sweeps."""

    population: str = "zipf"
    devices: int = 100_000
    values: int = 64
    scale: float = 1.0
    real: bool = False
    mechanisms: tuple[str, ...] = MECHANISMS

    def runs(self, most: int, mechanism: str) -> range:
        """Return the numbers of the runs of one point, at least two."""
        wanted = most * self.scale / (4 if mechanism in SLOW else 1)
        return range(max(2, round(wanted)))


@dataclass(frozen=True)
class Experiment:
    """A sweep: its settings, how one is measured, and what it shows in one sentence."""

    shows: str
    settings: Callable[[Options], Iterator[Setting]]
    measure: Measure = measure


def _points(
    name: str,
    options: Options,
    runs: int,
    *,
    epsilons: tuple[str, ...] = ("1",),
    devices: tuple[int, ...] = (),
    values: tuple[int, ...] = (),
    mechanisms: tuple[str, ...] | None = None,
) -> Iterator[Setting]:
    for mechanism in options.mechanisms if mechanisms is None else mechanisms:
        for epsilon in epsilons:
            for n in devices or (options.devices,):
                for k in values or (options.values,):
                    for run in options.runs(runs, mechanism):
                        yield Setting(
                            name, mechanism, epsilon, n, k, options.population, run, options.real
                        )


def _by_epsilon(options: Options) -> Iterator[Setting]:
    return _points("epsilon", options, 20, epsilons=EPSILONS)


def _by_devices(options: Options) -> Iterator[Setting]:
    n = options.devices
    devices = tuple(n * f // 100 for f in (1, 3, 10, 30, 100, 300, 1000))
    return _points("devices", options, 20, devices=devices)


def _by_values(options: Options) -> Iterator[Setting]:
    return _points("values", options, 20, values=(4, 16, 64, 256, 1024))


def _detection(options: Options) -> Iterator[Setting]:
    n = options.devices
    devices = tuple(n * f // 10 for f in (1, 3, 10, 30, 100))
    return _points("detection", options, 20, devices=devices, values=(4 * options.values,))


def _coverage(options: Options) -> Iterator[Setting]:
    return _points("coverage", options, 100, epsilons=("1", "3"))


def _side_by_side(options: Options) -> Iterator[Setting]:
    return _points("mechanisms", options, 20, epsilons=("1", "2", "4"))


def _drift(options: Options) -> Iterator[Setting]:
    chosen = ("oue", "basic_rappor")
    for mechanism in (m for m in chosen if m in options.mechanisms):
        for kept in (1, 4) if mechanism == "basic_rappor" else (0,):
            for run in range(max(1, round(3 * options.scale))):
                yield Setting(
                    "drift",
                    mechanism,
                    "2",
                    min(options.devices, 20_000),
                    8,
                    options.population,
                    run,
                    True,
                    {"max_values": kept},
                )


def _opt_in(options: Options) -> Iterator[Setting]:
    for mechanism in (m for m in ("subset", "oue", "krr") if m in options.mechanisms):
        for tilt in (0.0, 0.1, 0.25, 0.5):
            for run in options.runs(20, mechanism):
                yield Setting(
                    "opt_in",
                    mechanism,
                    "2",
                    options.devices,
                    8,
                    options.population,
                    run,
                    options.real,
                    {"tilt": tilt},
                )


def _frontier(options: Options) -> Iterator[Setting]:
    return _points("frontier", options, 4, epsilons=EPSILONS)


EXPERIMENTS: dict[str, Experiment] = {
    "epsilon": Experiment("Error against epsilon", _by_epsilon),
    "devices": Experiment("Error against the number of devices", _by_devices),
    "values": Experiment("Error against the number of values", _by_values),
    "detection": Experiment("Which of the ten commonest values are found", _detection),
    "coverage": Experiment("How often 95% intervals hold the truth", _coverage),
    "drift": Experiment("Estimates of a population that changes", _drift, measure_drift),
    "opt_in": Experiment("Bias where consent depends on the value", _opt_in, measure_opt_in),
    "frontier": Experiment("Error against what one report gives away", _frontier, measure_frontier),
    "mechanisms": Experiment("Mechanisms side by side", _side_by_side),
}


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
