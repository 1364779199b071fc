"""What a demo plays: a registry, what each device holds, and the candidates for open questions."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeAlias

from rumor_simulations.populations.from_packages import Browser, absent_labels, browsers, surnames

# What one device answers: a value for each metric.
Answers: TypeAlias = Mapping[str, "str | bool"]

# 161 real strings and 839 absent ones: the size of list that the acceptance of the demo states.
CANDIDATES = 1000
# No package ships shares of dark mode, so this one is made up: far from a half, where an estimate
# that shrinks towards a half would show.
DARK_SHARE = 0.35


@dataclass(frozen=True)
class Scenario:
    """One demo, ready to play.

    `registry` is the body of the registry file, `devices` what each device answers, `candidates`
    the list against which each metric of an open domain is decoded.
    """

    registry: bytes
    devices: Sequence[Answers]
    candidates: Mapping[str, Sequence[str]]


def browser_scenario(devices: int, rng: random.Random) -> Scenario:
    """Return the demo of the four mechanisms, with browsers and systems by their real shares."""
    population = browsers()
    labels = population.grouped(lambda browser: browser.label).values
    absent = absent_labels(population.values, CANDIDATES - len(labels))
    answers = [_browser_answers(b, rng) for b in population.draw(devices, rng)]
    return Scenario(_registry("browsers.toml"), answers, {"browser-version": (*labels, *absent)})


def _browser_answers(browser: Browser, rng: random.Random) -> Answers:
    return {
        "browser-version": browser.label,
        "browser": browser.name,
        "operating-system": browser.system,
        "dark-mode": rng.random() < DARK_SHARE,
    }


def surname_scenario(devices: int, rng: random.Random) -> Scenario:
    """Return the demo of one large open domain: surnames by their shares in a census."""
    population = surnames()
    answers = [{"surname": name} for name in population.draw(devices, rng)]
    return Scenario(_registry("surnames.toml"), answers, {"surname": population.values})


SCENARIOS: Mapping[str, Callable[[int, random.Random], Scenario]] = {
    "browsers": browser_scenario,
    "surnames": surname_scenario,
}


def _registry(name: str) -> bytes:
    return files("rumor_simulations.demo").joinpath(name).read_bytes()
