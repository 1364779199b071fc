"""Poisoning: how far fake devices move an estimate (Cao, Jia, Gong, USENIX Security 2021).

    random items (RIA)      a fake takes a random target and perturbs it as an honest device does
    random reports (RPA)    a fake sends any report, all equally likely
    maximal gain (MGA)      a fake sends the report that supports most targets
    maximal gain, hidden    the same, with as many bits set as an honest report has on average, so
                            that no test of a report's weight finds it

The gain is the rise of the targets' summed estimates. Of a fraction b of fakes, each supporting s
of r targets on average, a pure mechanism's is b (s - r q)/(p - q) - b f, f being the targets' true
share: s = 1 report of a target for RIA gives b (1 - f) whatever the mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from rumor_server.statistics.estimation import norm_sub
from rumor_server.statistics.mechanisms import estimate_metric, tally_of
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanism import Mechanism
from rumor_shared.metric import Metric
from rumor_simulations.audit.device import FreshDevices
from rumor_simulations.audit.trials import pooled_randomness
from rumor_simulations.mechanisms import evidence, population_tally
from rumor_simulations.mechanisms.population_model import Forger
from rumor_simulations.mechanisms.table import population_model
from rumor_simulations.population import PopulationCounts

# Reports of a fake, for one of an honest device, where no budget is kept.
UNCAPPED = 10


class Poison(StrEnum):
    """How fakes choose what they send."""

    RANDOM_ITEMS = "random items"
    RANDOM_REPORTS = "random reports"
    MAXIMAL = "maximal gain"
    HIDDEN = "maximal gain, hidden"


@dataclass(frozen=True)
class Gain:
    """The gain of one attack: simulated, its standard error, and by formula; shares of 1.

    `consistent` is the simulated gain of estimates brought to the simplex by Norm-Sub; `uncapped`
    the formula's if each fake could send ten reports where an honest device sends one.
    """

    poison: Poison
    gain: float
    std_error: float
    predicted: float
    consistent: float
    uncapped: float


def rates(mechanism: Mechanism) -> tuple[Fraction, Fraction] | None:
    """Return p > q of a mechanism that is pure over a closed domain, else None."""
    pair = mechanism.support() if mechanism.pure else None
    if pair is None:
        return None
    p, q = pair
    return (p, q) if p > q else (1 - p, 1 - q)


def poisoning(
    metric: Metric,
    population: PopulationCounts,
    targets: Sequence[str],
    fraction: float,
    runs: int,
    rng: np.random.Generator,
) -> list[Gain]:
    """Return the gain of each attack by `fraction` of all devices on `targets`.

    `population` are the honest devices. Raises ValueError for a mechanism that
    `rates` does not know, TypeError for one whose population model is no `Forger`.
    """
    pair = rates(metric.mechanism)
    if pair is None:
        raise ValueError(f"metric {metric.name!r} is not of a pure mechanism over a closed domain")
    fakes = round(population.n * fraction / (1 - fraction))
    share = fakes / (fakes + population.n)
    p, q = (float(rate) for rate in pair)
    truth = float(
        population.in_domain(metric)[[metric.indices[t] for t in targets]].sum() / population.n
    )
    found = []
    for poison in Poison:
        gains, consistent, supported = [], [], 0.0
        for _ in range(runs):
            payloads = craft(metric, poison, targets, fakes, rng)
            supported += _supported(metric, payloads, targets) / runs
            honest = population_tally(metric, population, rng)
            raw, projected = _gains(metric, honest, honest + _tally(metric, payloads), targets)
            gains.append(raw)
            consistent.append(projected)
        predicted = share * (supported - len(targets) * q) / (p - q) - share * truth
        many = UNCAPPED * share / (1 + (UNCAPPED - 1) * share)
        found.append(
            Gain(
                poison,
                float(np.mean(gains)),
                float(np.std(gains, ddof=1) / runs**0.5) if runs > 1 else 0.0,
                predicted,
                float(np.mean(consistent)),
                predicted * many / share,
            )
        )
    return found


def craft(
    metric: Metric, poison: Poison, targets: Sequence[str], fakes: int, rng: np.random.Generator
) -> list[bytes]:
    """Return the payloads of `fakes` devices. Raises TypeError where the model is no `Forger`."""
    if poison is Poison.RANDOM_ITEMS:
        return _items(metric, targets, fakes, rng)
    forger = population_model(metric)
    if not isinstance(forger, Forger):
        raise TypeError(f"metric {metric.name!r}: its population model is no Forger; add one")
    if poison is Poison.RANDOM_REPORTS:
        return forger.forged(fakes, rng)
    return forger.supporting(targets, fakes, rng, hidden=poison is Poison.HIDDEN)


def _items(
    metric: Metric, targets: Sequence[str], fakes: int, rng: np.random.Generator
) -> list[bytes]:
    devices, live = FreshDevices(), pooled_randomness()
    return [
        devices.first_answer(metric, targets[i], live).payload
        for i in rng.integers(len(targets), size=fakes).tolist()
    ]


def _supported(metric: Metric, payloads: Sequence[bytes], targets: Sequence[str]) -> float:
    octets = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)
    scores = evidence(metric, octets, np.zeros(len(payloads), dtype=np.int64), tuple(targets))
    # What speaks for a value supports it; a clear bit speaks against it.
    return float((scores > 1e-9).sum(axis=1).mean())


def _tally(metric: Metric, payloads: Sequence[bytes]) -> Tally:
    for payload in payloads[:1]:
        metric.mechanism.check_payload(payload)
    return Tally(np.array([len(payloads)]), tally_of(metric, payloads)[None, :])


def _gains(
    metric: Metric, honest: Tally, poisoned: Tally, targets: Sequence[str]
) -> tuple[float, float]:
    """Return by how much the targets' sum rises, raw and after Norm-Sub."""
    own = [metric.indices[target] for target in targets]
    before, after = (estimate_metric(metric, tally).frequency for tally in (honest, poisoned))
    raw = (after - before)[own].sum()
    projected = (norm_sub(after) - norm_sub(before))[own].sum()
    return float(raw), float(projected)
