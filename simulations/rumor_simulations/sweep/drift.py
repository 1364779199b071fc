"""A population that changes while devices report daily, with and without permanent answers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from rumor_server.statistics.mechanisms import tally_of
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_simulations.attacks.device import Device
from rumor_simulations.population import Counts, PopulationCounts
from rumor_simulations.populations.named import named_population
from rumor_simulations.sweep.measures import estimated
from rumor_simulations.sweep.setting import MEMOISED, Setting, sweep_metric

DAYS = 12
# From day 3 to 8, so many of the devices move to the last value on each day.
MOVES = range(3, 9)
MOVING = 0.06


def measure_drift(setting: Setting, seed: np.random.SeedSequence) -> list[dict[str, Any]]:
    """Return one row a day on the value that devices move to: its share, and its estimate.

    Devices run the client's own perturbation, so that permanent answers, slots and their cap are
    what they are.
    """
    rng = np.random.default_rng(seed)
    whole = named_population(setting.population, setting.k)
    fields = {}
    if setting.mechanism in MEMOISED:
        fields["max_values"] = int(setting.extra["max_values"])
    metric = sweep_metric(setting.mechanism, setting.epsilon, whole.values, **fields)
    noise = random.Random(int(rng.integers(2**63)))
    devices = [Device(noise) for _ in range(setting.n)]
    shares = np.array(whole.weights) / np.sum(whole.weights)
    held = rng.choice(len(whole.values), size=setting.n, p=shares)
    target = len(whole.values) - 1
    rows = []
    for day in range(DAYS):
        if day in MOVES:
            held[rng.random(setting.n) < MOVING] = target
        tally = _tally_day(metric, whole.values, held, devices)
        population = PopulationCounts(whole.values, np.bincount(held, minlength=len(whole.values)))
        estimates = estimated(metric, tally, population)
        rows.append(
            {
                **setting.columns,
                "day": day,
                "share": float(population.shares[target]),
                "estimate": float(estimates.frequency[target]),
                "low": float(estimates.low[target]),
                "high": float(estimates.high[target]),
            }
        )
    return rows


def _tally_day(
    metric: Metric, texts: tuple[str, ...], held: Counts, devices: list[Device]
) -> Tally:
    mechanism = metric.mechanism
    payloads: list[list[bytes]] = [[] for _ in range(mechanism.cohorts)]
    for device, value in zip(devices, held.tolist(), strict=True):
        answer = device.answer(metric, texts[value])
        payloads[answer.cohort].append(answer.payload)
    return Tally(
        np.array([len(of_cohort) for of_cohort in payloads], dtype=np.int64),
        np.stack([tally_of(metric, of_cohort) for of_cohort in payloads]),
    )
