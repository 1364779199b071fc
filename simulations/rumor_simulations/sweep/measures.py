"""What a run of a sweep measures: errors, intervals, and which values were found."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rumor_server.statistics.estimation import Estimates
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_simulations.crowd import Crowd, Floats
from rumor_simulations.mechanisms import crowd_tally
from rumor_simulations.sweep.populations import population
from rumor_simulations.sweep.real import play_crowd
from rumor_simulations.sweep.setting import Setting, sweep_metric

TOP = 10


def measure(setting: Setting, seed: np.random.SeedSequence) -> list[dict[str, Any]]:
    """Draw a crowd, tally and estimate it, and return one row of measures."""
    rng = np.random.default_rng(seed)
    crowd = Crowd.drawn(population(setting.population, setting.k), setting.n, rng)
    metric = sweep_metric(setting.mechanism, setting.epsilon, crowd.texts)
    start = time.perf_counter()
    tally = draw_tally(setting, metric, crowd, rng)
    tallied = time.perf_counter()
    estimates = estimated(metric, tally, crowd)
    return [
        {
            **setting.columns,
            **accuracy(estimates, crowd.shares),
            "payload_bytes": metric.mechanism.payload_bytes,
            "cells": metric.mechanism.cells * metric.mechanism.cohorts,
            "tally_seconds": tallied - start,
            "estimate_seconds": time.perf_counter() - tallied,
        }
    ]


def draw_tally(setting: Setting, metric: Metric, crowd: Crowd, rng: np.random.Generator) -> Tally:
    """Return the tally of a crowd: drawn from its law, or played by the client where asked."""
    return (play_crowd if setting.real else crowd_tally)(metric, crowd, rng)


def estimated(metric: Metric, tally: Tally, crowd: Crowd) -> Estimates:
    """Return estimates in the order of the crowd's texts."""
    candidates = crowd.texts if metric.mechanism.values is None else None
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
