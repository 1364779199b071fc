"""Every attack on every metric of a registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry
from rumor_simulations.attacks import people, profiles
from rumor_simulations.attacks.outcome import Outcome
from rumor_simulations.attacks.poisoning import Gain, poisoning, rates
from rumor_simulations.attacks.target import Target, target
from rumor_simulations.mechanisms.population_model import Forger
from rumor_simulations.mechanisms.table import population_model
from rumor_simulations.population import PopulationCounts
from rumor_simulations.populations.named import ZIPF_EXPONENT

# Fakes among all devices, as in the paper's tables, and the targets they push: the rarest values.
FAKES = 0.05
TARGETS = 10
HONEST = 20_000
RUNS = 5

ON_METRIC: tuple[Callable[[Target, int, np.random.Generator], Iterator[Outcome]], ...] = (
    people.reconstruction,
    people.averaging,
    people.change,
    people.pools,
)
ON_REGISTRY = (profiles.linking, profiles.reidentification, profiles.membership)


@dataclass(frozen=True)
class Poisoned:
    """What fakes gain on one metric."""

    metric: str
    mechanism: str
    targets: int
    gain: Gain


def is_known(metric: Metric) -> bool:
    """Return whether these attacks know how to read several answers of one device.

    Of mechanisms with permanent answers they know RAPPOR's alone.
    """
    return not metric.mechanism.memoised or isinstance(metric.mechanism, Rappor)


def attack_people(
    registry: Registry, devices: int, seed: int, on_done: Callable[[str], None]
) -> list[Outcome]:
    """Run every attack on people by metrics that are known.

    `on_done` is called with the name of each metric behind it.
    """
    targets = [target(registry, metric) for metric in registry.metrics.values() if is_known(metric)]
    found: list[Outcome] = []
    for number, one in enumerate(targets):
        rng = np.random.default_rng([seed, number])
        for attack in ON_METRIC:
            found += attack(one, devices, rng)
        on_done(one.metric.name)
    rng = np.random.default_rng([seed, len(targets)])
    for joint in ON_REGISTRY if targets else ():
        found += joint(targets, devices, rng)
    on_done(profiles.ALL)
    return found


def attack_results(registry: Registry, seed: int) -> list[Poisoned]:
    """Poison every metric whose mechanism is pure over a closed domain."""
    found = []
    for number, metric in enumerate(registry.metrics.values()):
        if rates(metric.mechanism) is not None and isinstance(population_model(metric), Forger):
            rng = np.random.default_rng([seed, 1, number])
            found += _poison(metric, rng)
    return found


def _poison(metric: Metric, rng: np.random.Generator) -> list[Poisoned]:
    values = metric.mechanism.values or ()
    weights = np.arange(1, len(values) + 1) ** -ZIPF_EXPONENT
    population = PopulationCounts(values, rng.multinomial(HONEST, weights / weights.sum()))
    count = max(1, min(TARGETS, len(values) // 2))
    gains = poisoning(metric, population, values[-count:], FAKES, RUNS, rng)
    return [Poisoned(metric.name, metric.mechanism.name, count, gain) for gain in gains]
