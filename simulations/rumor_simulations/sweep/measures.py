"""The functions that measure one run of a sweep, each a row of a table.

`measure` takes errors, intervals and which values were found; `measure_frontier` adds how well one
report is guessed; `measure_opt_in` shows the bias, which no estimator mends, where those who agree
are not like those who do not. A population's tally is drawn from its law, or played by the
client's own code one device at a time: slow, and beyond suspicion.
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

from rumor_client.perturbation.randomness import Randomness
from rumor_server.statistics.estimation import Estimates
from rumor_server.statistics.mechanisms import estimate_metric, tally_of
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_simulations.attacks.guess import guess_success
from rumor_simulations.audit.device import FreshDevices
from rumor_simulations.mechanisms import population_tally
from rumor_simulations.population import Floats, PopulationCounts
from rumor_simulations.populations.named import named_population
from rumor_simulations.sweep.setting import Setting, sweep_metric

TOP = 10


def measure(setting: Setting, seed: np.random.SeedSequence) -> list[dict[str, Any]]:
    """Draw a population, tally and estimate it, and return one row of measures."""
    rng = np.random.default_rng(seed)
    population = PopulationCounts.drawn(
        named_population(setting.population, setting.k), setting.n, rng
    )
    metric = sweep_metric(setting.mechanism, setting.epsilon, population.texts)
    start = time.perf_counter()
    tally = draw_tally(setting, metric, population, rng)
    tallied = time.perf_counter()
    estimates = estimated(metric, tally, population)
    return [
        {
            **setting.columns,
            **accuracy(estimates, population.shares),
            "payload_bytes": metric.mechanism.payload_bytes,
            "cells": metric.mechanism.cells * metric.mechanism.cohorts,
            "tally_seconds": tallied - start,
            "estimate_seconds": time.perf_counter() - tallied,
        }
    ]


def draw_tally(
    setting: Setting, metric: Metric, population: PopulationCounts, rng: np.random.Generator
) -> Tally:
    """Return the tally of a population: drawn from its law, or played by the client where asked."""
    return (play_devices if setting.real else population_tally)(metric, population, rng)


def estimated(metric: Metric, tally: Tally, population: PopulationCounts) -> Estimates:
    """Return estimates in the order of the population's texts."""
    candidates = population.texts if metric.mechanism.values is None else None
    return estimate_metric(metric, tally, candidates)


def accuracy(estimates: Estimates, truth: Floats) -> dict[str, Any]:
    """Return errors as shares of 1, counts of intervals that hold, and what was found.

    `rmse` is over all values, `stated_rmse` what the standard errors say it is. `top_*` compare the
    ten values of the largest estimates with the ten commonest; `found` passed Bonferroni at 5%.
    """
    error = estimates.frequency - truth
    holds = (estimates.low <= truth) & (truth <= estimates.high)
    all_hold = (estimates.simultaneous_low <= truth) & (truth <= estimates.simultaneous_high)
    top = min(TOP, len(truth))
    guessed = np.argsort(-estimates.frequency, kind="stable")[:top]
    commonest = np.argsort(-truth, kind="stable")[:top]
    found = estimates.significant
    return {
        "rmse": float(np.sqrt(np.square(error).mean())),
        "stated_rmse": float(np.sqrt(np.square(estimates.std_error).mean())),
        "max_error": float(np.abs(error).max()),
        "bias": float(error.mean()),
        "intervals": len(truth),
        "hold": int(holds.sum()),
        "all_hold": bool(all_hold.all()),
        "top_right": len(set(guessed.tolist()) & set(commonest.tolist())),
        "top": top,
        "top_found": int(found[commonest].sum()),
        "found": int(found.sum()),
        "found_absent": int((found & (truth == 0)).sum()),
    }


# Payloads held before they are added up.
_BLOCK = 1 << 14


def play_devices(metric: Metric, population: PopulationCounts, rng: np.random.Generator) -> Tally:
    """Return the tally of one report from every device, perturbed by the installed client.

    The noise is drawn from `rng`'s seed, so that a run can be repeated: for simulations only.
    """
    live = Randomness(random.Random(int(rng.integers(2**63))).randbytes)
    devices, mechanism = FreshDevices(), metric.mechanism
    total = Tally.empty(mechanism)
    waiting: list[list[bytes]] = [[] for _ in range(mechanism.cohorts)]
    held = 0

    def add() -> None:
        for cohort, payloads in enumerate(waiting):
            if payloads:
                total.reports[cohort] += len(payloads)
                total.counts[cohort] += tally_of(metric, payloads)
                payloads.clear()

    for text, count in zip(population.texts, population.counts.tolist(), strict=True):
        for _ in range(count):
            cohort, payload = devices.first_answer(metric, text, live)
            waiting[cohort].append(payload)
            held += 1
            if held % _BLOCK == 0:
                add()
    add()
    return total


# Reports that an attacker guesses from, at most, played by the client itself.
GUESSED = 4000


def measure_frontier(setting: Setting, seed: np.random.SeedSequence) -> list[dict[str, Any]]:
    """Return one row: error of the estimates, and success of the best guess from one report."""
    rng = np.random.default_rng(seed)
    population = PopulationCounts.drawn(
        named_population(setting.population, setting.k), setting.n, rng
    )
    metric = sweep_metric(setting.mechanism, setting.epsilon, population.texts)
    estimates = estimated(metric, draw_tally(setting, metric, population, rng), population)
    guessed = guess_success(metric, population.texts, min(GUESSED, setting.n), 1, rng)
    return [{**setting.columns, **accuracy(estimates, population.shares), "guessed": guessed}]


# Half of all devices agree; `tilt` is how much likelier those with the commonest value are to.
CONSENT = 0.5


def measure_opt_in(setting: Setting, seed: np.random.SeedSequence) -> list[dict[str, Any]]:
    """Return one row on the commonest value: its share among all, among those asked, estimated.

    Devices with the commonest value agree with .5 (1 + tilt), all others with .5 (1 - tilt).
    """
    rng = np.random.default_rng(seed)
    everyone = PopulationCounts.drawn(
        named_population(setting.population, setting.k), setting.n, rng
    )
    tilt = float(setting.extra["tilt"])
    agree = np.full(len(everyone.texts), CONSENT * (1 - tilt))
    agree[0] = CONSENT * (1 + tilt)
    willing = PopulationCounts(everyone.texts, rng.binomial(everyone.counts, agree))
    metric = sweep_metric(setting.mechanism, setting.epsilon, everyone.texts)
    estimates = estimated(metric, draw_tally(setting, metric, willing, rng), willing)
    truth, asked = float(everyone.shares[0]), float(willing.shares[0])
    return [
        {
            **setting.columns,
            "share": truth,
            "share_of_willing": asked,
            "estimate": float(estimates.frequency[0]),
            "std_error": float(estimates.std_error[0]),
            "holds_share": bool(estimates.low[0] <= truth <= estimates.high[0]),
            "holds_willing": bool(estimates.low[0] <= asked <= estimates.high[0]),
        }
    ]
