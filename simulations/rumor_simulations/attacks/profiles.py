"""Attacks that join metrics: linking days, re-identifying known people, telling who took part."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from rumor_client.perturbation.perturb import Answer
from rumor_simulations.attacks.device import Device
from rumor_simulations.attacks.guess import best_guess, likeliest
from rumor_simulations.attacks.outcome import Outcome
from rumor_simulations.attacks.reports import belief
from rumor_simulations.attacks.sameness import sameness
from rumor_simulations.attacks.target import Target
from rumor_simulations.population import Floats

ALL = "all metrics"
# Among so many devices one is looked for, day after day or person after person.
CROWD = 100


def linking(targets: Sequence[Target], devices: int, rng: np.random.Generator) -> Iterator[Outcome]:
    """Find a device of the first day among `CROWD` of the second, by one metric and by all.

    Values do not change over night. Nothing is allowed or forbidden here by epsilon where answers
    are permanent: the guarantee is of values, and not of being the same device.
    """
    rounds = max(1, devices // CROWD)
    right: dict[str, list[float]] = {}
    for _ in range(rounds):
        noise = random.Random(int(rng.integers(2**63)))
        players = [Device(noise) for _ in range(CROWD)]
        total = np.zeros((CROWD, CROWD))
        for target in targets:
            held = rng.integers(len(target.texts), size=CROWD).tolist()
            before, after = (_day(target, players, held) for _ in range(2))
            score = sameness(target.metric, before, after, target.texts)
            right.setdefault(target.metric.name, []).append(_matched(score, rng))
            total += score
        right.setdefault(ALL, []).append(_matched(total, rng))
    for name, found in right.items():
        chosen = [t for t in targets if name in (ALL, t.metric.name)]
        fresh = not any(t.metric.mechanism.memoised for t in chosen)
        spent = sum(t.spent(t.a_day) for t in chosen)
        yield Outcome(
            "linking two days",
            name,
            chosen[0].metric.mechanism.name if len(chosen) == 1 else "",
            1 if name != ALL else len(targets),
            "metrics",
            float(np.mean(found)),
            rounds * CROWD,
            1 / CROWD,
            best_guess(spent, CROWD) if fresh else None,
        )


def reidentification(
    targets: Sequence[Target], devices: int, rng: np.random.Generator
) -> Iterator[Outcome]:
    """Find whose reports of a day these are among `CROWD` people whose values are all known."""
    rounds = max(1, devices // CROWD)
    right = np.zeros((rounds, len(targets)))
    for number in range(rounds):
        noise = random.Random(int(rng.integers(2**63)))
        players = [Device(noise) for _ in range(CROWD)]
        total = np.zeros((CROWD, CROWD))
        for place, (target, held) in enumerate(_people(targets, rng)):
            total += _fit(target, players, held)
            right[number, place] = float((likeliest(total, rng) == np.arange(CROWD)).mean())
    spent = np.cumsum([target.spent(target.a_day) for target in targets])
    for place in range(len(targets)):
        yield Outcome(
            "re-identification",
            ALL,
            "",
            place + 1,
            "metrics",
            float(right[:, place].mean()),
            rounds * CROWD,
            1 / CROWD,
            best_guess(float(spent[place]), CROWD),
        )


def membership(
    targets: Sequence[Target], devices: int, rng: np.random.Generator
) -> Iterator[Outcome]:
    """Tell whether a day's reports come from a person whose values are known, or from another."""
    rounds = max(1, devices // CROWD)
    right = np.zeros((rounds, len(targets)))
    for number in range(rounds):
        noise = random.Random(int(rng.integers(2**63)))
        players = [Device(noise) for _ in range(CROWD)]
        own, other = np.zeros(CROWD), np.zeros(CROWD)
        for place, (target, held) in enumerate(_people(targets, rng)):
            fit = _fit(target, players, held)
            own += np.diag(fit)
            # The reports of each device held against the values of the next person.
            other += np.diag(np.roll(fit, -1, axis=1))
            right[number, place] = float(((own > other) + 0.5 * (own == other)).mean())
    spent = np.cumsum([target.spent(target.a_day) for target in targets])
    for place in range(len(targets)):
        yield Outcome(
            "membership",
            ALL,
            "",
            place + 1,
            "metrics",
            float(right[:, place].mean()),
            rounds * CROWD,
            0.5,
            best_guess(float(spent[place]), 2),
        )


def _people(
    targets: Sequence[Target], rng: np.random.Generator
) -> Iterator[tuple[Target, list[int]]]:
    for target in targets:
        yield target, rng.integers(len(target.texts), size=CROWD).tolist()


def _day(target: Target, players: Sequence[Device], held: Sequence[int]) -> list[list[Answer]]:
    return [
        [player.answer(target.metric, target.texts[value]) for _ in range(target.a_day)]
        for player, value in zip(players, held, strict=True)
    ]


def _fit(target: Target, players: Sequence[Device], held: Sequence[int]) -> Floats:
    """Return (devices, people): how well each device's reports fit each person's value."""
    scores = belief(target.metric, _day(target, players, held), target.texts)
    return scores[:, np.array(held)]


def _matched(score: Floats, rng: np.random.Generator) -> float:
    return float((likeliest(score, rng) == np.arange(len(score))).mean())
