"""Attacks on one metric's devices: reconstruction, averaging, change detection, pool inference."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_simulations.attacks.device import Device
from rumor_simulations.attacks.guess import best_guess, guess_curve, likeliest
from rumor_simulations.attacks.outcome import Outcome
from rumor_simulations.attacks.reports import belief
from rumor_simulations.attacks.sameness import sameness
from rumor_simulations.attacks.target import Target
from rumor_simulations.population import Floats

DAYS = (1, 3, 7, 30, 90)
# Devices draw from their pool this often, from all values else (Gadotti et al. 2022 vary it).
LOYALTY = 0.8
POOLS = 2


def reconstruction(target: Target, devices: int, rng: np.random.Generator) -> Iterator[Outcome]:
    """Guess a device's value from one report, values being equally likely."""
    success = guess_curve(target.metric, target.texts, devices, (1,), rng)[0]
    yield _outcome("reconstruction", target, 1, "reports", success, devices, len(target.texts), 1)


def averaging(
    target: Target, devices: int, rng: np.random.Generator, days: Sequence[int] = DAYS
) -> Iterator[Outcome]:
    """Guess an unchanging value from all reports that the ledger lets pass in so many days."""
    reports = [target.reports(d) for d in days]
    curve = guess_curve(target.metric, target.texts, devices, tuple(reports), rng)
    for day, made, success in zip(days, reports, curve, strict=True):
        yield _outcome("averaging", target, day, "days", success, devices, len(target.texts), made)


def change(target: Target, devices: int, rng: np.random.Generator) -> Iterator[Outcome]:
    """Tell from the reports of two days whether a device's answer changed between them.

    Half of the devices change. Fresh noise is covered by epsilon: the second day's reports are all
    that differs. A permanent answer is not: that it changed may show.
    """
    metric, reports = target.metric, target.a_day
    noise = random.Random(int(rng.integers(2**63)))
    changed = rng.random(devices) < 0.5
    before, after = [], []
    for moved in changed.tolist():
        first, second = rng.choice(len(target.texts), size=2, replace=False).tolist()
        device = Device(noise)
        before.append([device.answer(metric, target.texts[first]) for _ in range(reports)])
        now = target.texts[second if moved else first]
        after.append([device.answer(metric, now) for _ in range(reports)])
    same = np.diag(sameness(metric, before, after, target.texts))
    success = _best_cut(-same, changed)
    allowed = None if metric.mechanism.memoised else best_guess(target.spent(reports), 2)
    yield Outcome(
        "change detection",
        metric.name,
        metric.mechanism.name,
        reports,
        "a day",
        success,
        devices - devices // 2,
        0.5,
        allowed,
    )


def pools(
    target: Target, devices: int, rng: np.random.Generator, days: Sequence[int] = DAYS
) -> Iterator[Outcome]:
    """Infer which half of the values a device prefers, from reports of values that change daily."""
    metric, texts = target.metric, target.texts
    noise = random.Random(int(rng.integers(2**63)))
    half = np.arange(len(texts)) * POOLS // len(texts)
    favourite = rng.integers(POOLS, size=devices)
    given = np.array([_habits(half, pool) for pool in range(POOLS)])
    most = target.reports(days[-1])
    scores = np.zeros((devices, POOLS))
    reached: dict[int, float] = {}
    players = [Device(noise) for _ in range(devices)]
    for number in range(1, most + 1):
        values = [int(rng.choice(len(texts), p=given[pool])) for pool in favourite]
        answers = [[p.answer(metric, texts[v])] for p, v in zip(players, values, strict=True)]
        likelihood = np.exp(_centred(belief(metric, answers, texts)))
        scores += np.log(likelihood @ given.T)
        reached[number] = float((likeliest(scores, rng) == favourite).mean())
    mechanism = metric.mechanism
    for day in days:
        made = target.reports(day)
        spent = made * mechanism.epsilon_report
        if mechanism.memoised:
            spent = min(spent, mechanism.epsilon_life(made))
        yield Outcome(
            "pool inference",
            metric.name,
            mechanism.name,
            day,
            "days",
            reached[made],
            devices,
            1 / POOLS,
            best_guess(spent / 1e6, POOLS),
        )


def _habits(half: NDArray[np.int64], pool: int) -> Floats:
    own = half == pool
    habits: Floats = LOYALTY * own / own.sum() + (1 - LOYALTY) / len(half)
    return habits


def _centred(scores: Floats) -> Floats:
    centred: Floats = scores - scores.max(axis=1, keepdims=True)
    return centred


def _best_cut(scores: Floats, truth: NDArray[np.bool_]) -> float:
    """Return the success of the best threshold on the first half of the devices, on the second."""
    cut = len(scores) // 2
    tried = np.unique(scores[:cut])
    right = [((scores[:cut] >= t) == truth[:cut]).mean() for t in (*tried, math.inf)]
    best = (*tried, math.inf)[int(np.argmax(right))]
    return float(((scores[cut:] >= best) == truth[cut:]).mean())


def _outcome(
    attack: str,
    target: Target,
    x: int,
    unit: str,
    success: float,
    tries: int,
    choices: int,
    reports: int,
) -> Outcome:
    return Outcome(
        attack,
        target.metric.name,
        target.metric.mechanism.name,
        x,
        unit,
        success,
        tries,
        1 / choices,
        best_guess(target.spent(reports), choices),
    )
