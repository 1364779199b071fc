"""Fakes gain what the formulas say (Cao, Jia, Gong 2021), and the tables that were published."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric
from rumor_simulations.attacks.poisoning import Gain, Poison, poisoning
from rumor_simulations.population import PopulationCounts
from rumor_simulations.sweep.setting import sweep_metric

PURE = ("krr", "oue", "sue", "subset", "hadamard", "pgr", "basic_rappor", "binary")
BETA, R, SHARE = 0.05, 10, 0.01


def gains(metric: Metric, n: int, runs: int, targets: int = R) -> dict[Poison, Gain]:
    """Return the gains on the last values, which together have 1% of the devices."""
    values = metric.mechanism.values or ()
    rare = round(n * SHARE)
    counts = np.zeros(len(values), dtype=np.int64)
    counts[0] = n - rare
    counts[-1] = rare
    population = PopulationCounts(values, counts)
    found = poisoning(metric, population, values[-targets:], BETA, runs, np.random.default_rng(1))
    return {gain.poison: gain for gain in found}


def values(k: int) -> tuple[str, ...]:
    """Return k values."""
    return tuple(f"v{i}" for i in range(k))


def far_off(gain: Gain, n: int) -> bool:
    """Whether a gain is six standard errors from its formula, plus the rounding of n fakes."""
    return abs(gain.gain - gain.predicted) > 6 * gain.std_error + 100 / n


@pytest.mark.parametrize("mechanism", PURE)
def test_gains_follow_the_formula(mechanism: str) -> None:
    """Simulated gains of every attack are those of the formula.

    A standard error of 12 runs is itself uncertain: Student's t with 11 degrees of freedom passes
    ten of them with 7e-7.
    """
    k = 2 if mechanism == "binary" else 24
    metric = sweep_metric(mechanism, "1", values(k))
    for gain in gains(metric, 20_000, 12, min(R, k // 2)).values():
        assert abs(gain.gain - gain.predicted) < 10 * gain.std_error + 1e-3, gain


def test_published_gain_on_oue() -> None:
    """Beta .05, ten targets of 1%, epsilon 1: a maximal gain of 1.5815 (yardstick Y15)."""
    gain = gains(sweep_metric("oue", "1", values(64)), 100_000, 4)[Poison.MAXIMAL]
    assert gain.predicted == pytest.approx(1.5815, abs=2e-3)
    assert not far_off(gain, 1000)


@pytest.mark.parametrize(("epsilon", "k", "published"), [("1", 102, 2.727), ("4", 1024, 0.995)])
def test_published_gain_on_krr(epsilon: str, k: int, published: float) -> None:
    """kRR over many values is indefensible: the published maximal gains."""
    gain = gains(sweep_metric("krr", epsilon, values(k)), 50_000, 2)[Poison.MAXIMAL]
    assert gain.predicted == pytest.approx(published, abs=5e-3)


def test_honest_fakes_gain_their_share() -> None:
    """Who lies about the value alone gains b (1 - f), whatever the mechanism."""
    for mechanism in ("krr", "oue"):
        gain = gains(sweep_metric(mechanism, "2", values(24)), 50_000, 8)[Poison.RANDOM_ITEMS]
        assert gain.predicted == pytest.approx(BETA * (1 - SHARE), abs=4e-3)


def test_wrong_rates_are_caught() -> None:
    """Planted fault: a formula with another q is far from what happens."""
    metric = sweep_metric("oue", "1", values(24))
    mechanism = cast(Unary, metric.mechanism)
    wrong = replace(metric, mechanism=replace(mechanism, clear_sets=mechanism.clear_sets // 2))
    honest = gains(metric, 20_000, 8)[Poison.MAXIMAL]
    other = gains(wrong, 20_000, 8)[Poison.MAXIMAL]
    assert abs(honest.gain - other.predicted) > 10 * honest.std_error + 1e-3


def test_open_domain_is_refused() -> None:
    """Filters have no p and q of a value, and say so."""
    metric = sweep_metric("rappor", "1", values(4))
    with pytest.raises(ValueError, match="not of a pure mechanism"):
        poisoning(metric, PopulationCounts.of({"a": 10}), ["a"], 0.05, 1, np.random.default_rng(1))


def test_influence_is_bounded() -> None:
    """One fake moves one share by at most (1 - q) / ((p - q) n): nothing here moves it further."""
    metric = sweep_metric("oue", "1", values(24))
    mechanism = cast(Unary, metric.mechanism)
    p, q = float(mechanism.p), float(mechanism.q)
    most = R * BETA * (1 - q) / (p - q)
    assert all(g.predicted <= most + math.ulp(most) for g in gains(metric, 5000, 2).values())
