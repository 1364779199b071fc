"""Populations: real shares from packages, drawn by weight from a seed."""

import math
import random
from collections import Counter

import pytest

from rumor_shared.registry import parse_registry
from rumor_simulations.demo.scenario import CANDIDATES, SCENARIOS, Scenario
from rumor_simulations.population import Population
from rumor_simulations.populations.from_packages import absent_labels, browsers, surnames


def test_shares_sum_to_one_and_are_ranked() -> None:
    """Weights of any sum become shares that sum to 1, the commonest first."""
    population = Population.of([("rare", 1.0), ("common", 2.5), ("rare", 0.5)])
    assert population.values == ("common", "rare")
    assert population.shares == {"common": 0.625, "rare": 0.375}


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan])
def test_refuses_a_weight_that_is_none(weight: float) -> None:
    """A weight that is not positive and finite is refused before anything is drawn."""
    with pytest.raises(ValueError, match="positive finite"):
        Population.of([("a", 1.0), ("b", weight)])


def test_refuses_to_be_empty() -> None:
    """A population of nobody is refused."""
    with pytest.raises(ValueError, match="at least one value"):
        Population.of([])


def test_browsers_are_the_packaged_shares() -> None:
    """The package's file gives 161 browsers with version, 23 browsers and 7 systems, by share."""
    population = browsers()
    labels = population.grouped(lambda browser: browser.label)
    assert len(labels.values) == 161
    assert len(population.grouped(lambda browser: browser.name).values) == 23
    assert len(population.grouped(lambda browser: browser.system).values) == 7
    assert math.fsum(population.weights) == pytest.approx(99.97, abs=0.01)
    assert math.fsum(labels.shares.values()) == pytest.approx(1)
    commonest = [*labels.shares.values()][:5]
    assert commonest == pytest.approx([0.36, 0.12, 0.09, 0.05, 0.04], abs=0.005)


def test_surnames_are_the_packaged_shares() -> None:
    """The census file gives 88,799 surnames; the commonest are borne as often as it says."""
    population = surnames()
    assert len(population.values) == 88_799
    assert population.values[:3] == ("SMITH", "JOHNSON", "WILLIAMS")
    assert population.weights[0] == 1.006
    assert math.fsum(population.weights[:10]) == pytest.approx(5.6, abs=0.05)
    # The census names 90.483% of the people; each line is rounded to a thousandth of a percent.
    assert math.fsum(population.weights) == pytest.approx(90.483, abs=2.2)


def test_absent_labels_are_distinct_and_absent() -> None:
    """Candidates that no device holds are distinct, plausible in form, and really absent."""
    present = browsers().values
    absent = absent_labels(present, 839)
    assert len(set(absent)) == 839
    assert not {browser.label for browser in present} & set(absent)
    names = {browser.name for browser in present}
    assert {label.rpartition(" ")[0] for label in absent} <= names


def test_absent_labels_are_refused_beyond_what_exists() -> None:
    """Asking for more absent labels than there are is an error and not a shorter list."""
    with pytest.raises(ValueError, match="are absent"):
        absent_labels(browsers().values, 100_000)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenario_is_answerable(name: str) -> None:
    """Every answer of a scenario's devices is one its registry takes, within a day's budget."""
    scenario = SCENARIOS[name](300, random.Random(1))
    registry = parse_registry(scenario.registry)
    assert len(scenario.devices) == 300
    for answers in scenario.devices:
        assert answers.keys() == registry.metrics.keys()
        for metric, value in answers.items():
            registry.metric(metric).text_of(value)
    spent = sum(metric.mechanism.epsilon_report for metric in registry.metrics.values())
    assert spent <= registry.daily_epsilon


def test_browser_scenario_has_the_candidates_of_its_acceptance() -> None:
    """The open metric is decoded against 1,000 distinct candidates, all held ones among them."""
    scenario = browser_scenario(seed=3)
    candidates = scenario.candidates["browser-version"]
    assert len(set(candidates)) == len(candidates) == CANDIDATES
    assert {answers["browser-version"] for answers in scenario.devices} <= set(candidates)


def test_seed_repeats_the_population() -> None:
    """One seed gives one population, another seed another."""
    assert browser_scenario(seed=4).devices == browser_scenario(seed=4).devices
    assert browser_scenario(seed=4).devices != browser_scenario(seed=5).devices


def test_draws_follow_the_shares() -> None:
    """Drawn devices hold each value as often as its share says.

    20,000 draws, seed 6, chi-square over the 10 commonest labels and the rest: 10 degrees of
    freedom exceed 50 with probability 2.7e-7.
    """
    labels = browsers().grouped(lambda browser: browser.label)
    assert chi_square(labels, labels.draw(20_000, random.Random(6))) < 50


def test_draws_that_ignore_the_shares_are_caught() -> None:
    """The check above fails when the commonest label is drawn a tenth too rarely."""
    labels = browsers().grouped(lambda browser: browser.label)
    planted = Population(labels.values, (labels.weights[0] * 0.9, *labels.weights[1:]))
    assert chi_square(labels, planted.draw(20_000, random.Random(6))) > 50


def browser_scenario(seed: int) -> Scenario:
    """A small scenario of browsers."""
    return SCENARIOS["browsers"](300, random.Random(seed))


def chi_square(population: Population[str], drawn: list[str]) -> float:
    """Pearson's statistic over the ten commonest values and all others together."""
    counts = Counter(drawn)
    common = [*population.shares.items()][:10]
    cells = [(counts[value], share * len(drawn)) for value, share in common]
    seen, expected = (sum(side) for side in zip(*cells, strict=True))
    cells.append((len(drawn) - seen, len(drawn) - expected))
    return math.fsum((seen - expected) ** 2 / expected for seen, expected in cells)
