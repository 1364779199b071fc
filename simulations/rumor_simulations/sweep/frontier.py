"""The frontier of privacy and utility: how well one report is guessed, how well all are counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from rumor_simulations.attacks.guess import guess_success
from rumor_simulations.crowd import Crowd
from rumor_simulations.populations.named import population
from rumor_simulations.sweep.measures import accuracy, draw_tally, estimated
from rumor_simulations.sweep.setting import Setting, sweep_metric

# Reports that an attacker guesses from, at most, played by the client itself.
GUESSED = 4000


def measure_frontier(setting: Setting, seed: np.random.SeedSequence) -> list[dict[str, Any]]:
    """Return one row: error of the estimates, and success of the best guess from one report."""
    rng = np.random.default_rng(seed)
    crowd = Crowd.drawn(population(setting.population, setting.k), setting.n, rng)
    metric = sweep_metric(setting.mechanism, setting.epsilon, crowd.texts)
    estimates = estimated(metric, draw_tally(setting, metric, crowd, rng), crowd)
    guessed = guess_success(metric, crowd.texts, min(GUESSED, setting.n), 1, rng)
    return [{**setting.columns, **accuracy(estimates, crowd.shares), "guessed": guessed}]
