"""Guess a device's value from its reports: reconstruction from one, averaging over many."""

from __future__ import annotations

import math
import random

import numpy as np
from numpy.typing import NDArray

from rumor_shared.metric import Metric
from rumor_simulations.attacks.device import Device
from rumor_simulations.attacks.reports import belief
from rumor_simulations.population import Floats


def guess_curve(
    metric: Metric,
    texts: tuple[str, ...],
    devices: int,
    days: tuple[int, ...],
    rng: np.random.Generator,
) -> list[float]:
    """Return how often the likeliest text is a device's own, after each number of daily reports.

    Values are uniform over `texts` and do not change; `days` ascend. Ties are broken by chance.
    """
    noise = random.Random(int(rng.integers(2**63)))
    held = rng.integers(len(texts), size=devices)
    players = [Device(noise) for _ in range(devices)]
    reports = [
        [player.answer(metric, texts[value]) for _ in range(days[-1])]
        for player, value in zip(players, held.tolist(), strict=True)
    ]
    return [
        float((likeliest(belief(metric, [r[:d] for r in reports], texts), rng) == held).mean())
        for d in days
    ]


def guess_success(
    metric: Metric, texts: tuple[str, ...], devices: int, days: int, rng: np.random.Generator
) -> float:
    """Return how often the likeliest text is a device's own after `days` reports."""
    return guess_curve(metric, texts, devices, (days,), rng)[0]


def likeliest(scores: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the index of the largest score of each row, ties broken by chance."""
    # Evidence is a sum of logarithms: what differs by less than this does not differ.
    broken: Floats = np.round(scores, 6) + 1e-9 * rng.random(scores.shape)
    best: NDArray[np.intp] = broken.argmax(axis=1)
    return best


def best_guess(epsilon: float, choices: int) -> float:
    """Return e^E / (e^E + choices - 1): the most that a loss of E allows any guess to succeed.

    It is the success of a guess among equally likely choices, whatever the attack.
    """
    return 1 / (1 + (choices - 1) * math.exp(-epsilon))
