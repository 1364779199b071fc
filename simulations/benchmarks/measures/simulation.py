"""The first reports of 10^7 devices, simulated on one core, with each mechanism at epsilon 1.

1024 values, Zipf 1.1; RAPPOR has 128 bits and 32 cohorts, sketches 64 x 128 cells, local hashing
256 cohorts. The limit is the minute that is promised on two cores. No peer simulates more than
report by report: what it would take is their client's time in `perturbation`, times 10^7.
"""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np

from benchmarks.row import Row, interleaved, seconds
from rumor_simulations.mechanisms import population_tally
from rumor_simulations.sweep.setting import MECHANISMS, sweep_metric
from rumor_simulations.yardsticks.populations import zipf

_DEVICES = 10_000_000
_VALUES = 1024
_LIMIT_SECONDS = 60.0
_ROUNDS = 3


def measure() -> list[Row]:
    """Draw the tally of each mechanism by turns; seconds, medians."""
    rng = np.random.default_rng(1)
    population = zipf(_VALUES, _DEVICES, 1.1, rng)
    metrics = [sweep_metric(name, "1", population.texts) for name in MECHANISMS]
    calls = [
        partial(seconds, partial(population_tally, metric, population, rng)) for metric in metrics
    ]
    return [
        Row(f"simulate 10^7 devices, {name}", median(taken), "s", "limit", _LIMIT_SECONDS, 1.0)
        for name, taken in zip(MECHANISMS, interleaved(calls, _ROUNDS), strict=True)
    ]
