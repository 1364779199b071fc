"""What two probabilities say about exactness, held against published numbers and simulation."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from rumor_server.planner import Accuracy, Option, Target, devices_needed, plan_options


def option(name: str, k: int, epsilon: str) -> Option:
    """A mechanism over k values."""
    options, _ = plan_options([f"v{i}" for i in range(k)], Decimal(epsilon))
    return next(o for o in options if o.name == name)


def variance(name: str, k: int, epsilon: str) -> float:
    """Variance of an absent value's share from one report."""
    return option(name, k, epsilon).accuracy.variance(0.0)


# formulas.md, section 1.4, four significant digits. PGR's published field is not the one chosen
# here where another prime is better, so it is no larger than published.
PUBLISHED = [
    ("0.5", 8.67, 37.18, 303.3, 2432, 15.92, 15.67, 16.67, 15.64, 15.79),
    ("1", 1.598, 5.662, 43.6, 347.1, 3.918, 3.683, 4.683, 3.674, 3.819),
    ("2", 0.2300, 0.5240, 3.268, 25.22, 0.9207, 0.7241, 1.724, 0.7207, 0.7382),
    ("3", 0.06063, 0.09358, 0.401, 2.861, 0.3697, 0.2206, 1.221, 0.2182, 0.2208),
    ("4", 0.0197, 0.02388, 0.06287, 0.3748, 0.1810, 0.07602, 1.076, 0.07391, 0.07547),
    ("5", 0.006922, 0.007474, 0.01263, 0.05386, 0.09742, 0.02732, 1.027, 0.02529, 0.02723),
    (
        *("8", 0.0003359, 0.0003373, 0.0003499, 0.0004508, 0.01901, 0.001343, 1.001),
        *(0.0004508, 0.0006733),
    ),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row[0])
def test_variances_are_those_published(row: tuple[Any, ...]) -> None:
    """The shipped integers have the variances of formulas 1.4, to the digits given."""
    epsilon, krr4, krr16, krr128, krr1024, sue, oue, hadamard, subset, pgr = row
    for k, expected in ((4, krr4), (16, krr16), (128, krr128), (1024, krr1024)):
        assert variance("krr", k, epsilon) == pytest.approx(expected, rel=2e-3)
    for name, expected in (("sue", sue), ("oue", oue), ("hadamard", hadamard)):
        assert variance(name, 1024, epsilon) == pytest.approx(expected, rel=1e-3)
    assert variance("subset", 1024, epsilon) == pytest.approx(subset, rel=3e-3)
    assert variance("pgr", 1024, epsilon) < 1.001 * pgr


@pytest.mark.parametrize(
    ("epsilon", "share"), [("1", 0.00748), ("2", 0.00332), ("4", 0.00107), ("8", 0.000143)]
)
def test_detectable_shares_are_those_published(epsilon: str, share: float) -> None:
    """Shares of this size are found half of the time: 1,024 values, 10^6 devices (formulas 1.4)."""
    accuracy = option("oue", 1024, epsilon).accuracy
    found = accuracy.detectable(10**6, 1024, power=0.5)
    # Published by a normal approximation, which is 4% low where 335 counts are noise (epsilon 8).
    assert found == pytest.approx(share, rel=5e-3 if accuracy.q * 10**6 > 1000 else 0.05)
    assert accuracy.detectable(10**6, 1024, power=0.95) > found


@pytest.mark.parametrize(
    ("name", "epsilon", "weight"),
    [
        ("krr", "1", 596),
        ("oue", "1", 3.16),
        ("sue", "1", 2.54),
        ("hadamard", "1", 2.16),
        ("krr", "4", 20.1),
        ("oue", "4", 2.04),
        ("sue", "4", 1.16),
        ("hadamard", "4", 1.04),
    ],
)
def test_influence_is_that_published(name: str, epsilon: str, weight: float) -> None:
    """One forged report over 1,024 values counts for so many honest ones (formulas 8)."""
    assert option(name, 1024, epsilon).accuracy.influence == pytest.approx(weight, rel=4e-3)


@pytest.mark.parametrize("power", [0.05, 0.5, 0.95])
def test_power_is_reached(power: float) -> None:
    """The test at Bonferroni's level finds the detectable share as often as said.

    Counted from the exact law of oue; the normal approximation errs by less than .005.
    """
    accuracy = option("oue", 1024, "1").accuracy
    n, k, q = 10**6, 1024, float(accuracy.q)
    share = accuracy.detectable(n, k, power=power)
    assert 0 < share < 1
    bar = binom.isf(0.05 / k, n, q)
    have = round(share * n)
    rng = np.random.default_rng(1)
    counts = rng.binomial(have, 0.5, 400_000) + rng.binomial(n - have, q, 400_000)
    # Five sigmas of 400,000 runs are .004.
    assert (counts > bar).mean() == pytest.approx(power, abs=0.009)


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3])
@pytest.mark.parametrize("name", ["krr", "oue", "sue", "subset"])
def test_devices_are_the_inverse(name: str, share: float) -> None:
    """So many devices detect exactly this share, and have exactly this standard deviation."""
    accuracy = option(name, 50, "1.5").accuracy
    n = accuracy.devices_for_detection(share, 50, power=0.95)
    assert accuracy.detectable(n, 50, power=0.95) <= share * (1 + 1e-9) + 1 / n
    assert accuracy.detectable(max(1, round(0.9 * n)), 50, power=0.95) > share * (1 - 1e-9)
    n = accuracy.devices_for_deviation(share)
    assert accuracy.deviation(n) <= share < accuracy.deviation(max(1, n - 1)) * (1 + 1e-9)


def test_worst_share_is_an_end() -> None:
    """The variance is linear in the share, so no share is worse than both 0 and 1."""
    accuracy = option("krr", 50, "1.5").accuracy
    assert isinstance(accuracy, Accuracy)
    for share in np.linspace(0, 1, 11):
        assert accuracy.deviation(100, share) <= accuracy.worst_deviation(100) * (1 + 1e-12)


def exact_power(accuracy: Accuracy, n: int, have: int, k: int) -> float:
    """How often the test at .05 / k finds a value that `have` of n devices have, term by term."""
    p, q = float(accuracy.p), float(accuracy.q)
    bar = int(binom.isf(0.05 / k, n, q)) + 1
    own = np.arange(have + 1)
    return float((binom.pmf(own, have, p) * binom.sf(bar - 1 - own, n - have, q)).sum())


@pytest.mark.parametrize(
    ("k", "epsilon", "share"),
    [(1000, "8", 0.01), (1000, "6", 0.01), (100, "4", 0.02), (1000, "2", 0.05), (300, "1.5", 0.06)],
)
def test_devices_find_a_share_as_often_as_said(k: int, epsilon: str, share: float) -> None:
    """S-06: 731 devices were planned and had power .53; now 95 to 97% by the exact law."""
    for name in ("pgr", "subset", "oue"):
        accuracy = option(name, k, epsilon).accuracy
        n = accuracy.devices_for_detection(share, k, power=0.95)
        assert 0.94 <= exact_power(accuracy, n, round(share * n), k) <= 0.97
    assert exact_power(option("pgr", 1000, "8").accuracy, 731, 7, 1000) < 0.6


def test_power_of_random_plans_is_93_to_97_percent() -> None:
    """S-06: over 30 random plans, by the law of these devices or, where few have it, of a draw."""
    rng = np.random.default_rng(30)
    for _ in range(30):
        k = int(rng.integers(2, 1500))
        epsilon, share = round(rng.uniform(0.5, 9), 1), 0.3 ** rng.uniform(1, 4)
        made, n = devices_needed(
            [f"v{i}" for i in range(k)], Decimal(str(epsilon)), Target("detect", share)
        )
        chosen = made.chosen
        p, q = float(chosen.accuracy.p), float(chosen.accuracy.q)
        level = 0.05 / chosen.tests
        bar = int(binom.isf(level, n, q)) + 1
        drawn = float(binom.sf(bar - 1, n, q + share * (p - q)))
        these = exact_power(chosen.accuracy, n, round(share * n), chosen.tests)
        assert 0.93 <= these <= 0.97 or 0.93 <= drawn <= 0.97
