"""A crowd's tally has the joint law of its devices' own reports, whatever the mechanism."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from tests.simulations.joint_law import chi_square_p, flat, moments, tally_law

from rumor_shared.mechanisms.subset import Subset
from rumor_shared.mechanisms.table import BUILT_IN
from rumor_shared.mechanisms.unary import Unary
from rumor_shared.metric import Metric, parse_metric
from rumor_simulations.mechanisms import population_tally
from rumor_simulations.population import Population, PopulationCounts

# The false-alarm rate of each test below.
FALSE_ALARM = 1e-6
# Two-sided normal quantile at 1e-8, so that a hundred cells together stay at 1e-6.
Z = 5.73
RUNS = 3000

MEMORY = {"epsilon_first_report": 1, "epsilon_infinity": 2, "max_values": 1}
TINY: dict[str, dict[str, Any]] = {
    "binary": {"values": 2, "epsilon": 1},
    "krr": {"values": 3, "epsilon": 1},
    "sue": {"values": 3, "epsilon": 1},
    "oue": {"values": 3, "epsilon": 1},
    "subset": {"values": 6, "epsilon": 1},
    "hadamard": {"values": 3, "epsilon": 1},
    "pgr": {"values": 4, "epsilon": 1, "field": 3},
    "local_hashing": {"epsilon": 1, "cohorts": 2, "hash_range": 3},
    "cms": {"epsilon": 1, "cohorts": 2, "columns": 2},
    "hcms": {"epsilon": 1, "cohorts": 2, "columns": 2},
    "basic_rappor": {"values": 3, **MEMORY},
    "rappor": {"bits": 3, "hashes": 2, "cohorts": 2, **MEMORY},
}


def tiny(mechanism: str, **changed: Any) -> Metric:
    """Return a metric small enough that the law of a tally of three devices can be enumerated."""
    fields = {**TINY[mechanism], **changed}
    if "values" in fields:
        fields["values"] = [f"v{i}" for i in range(fields["values"])]
    table = {"revision": 1, "owner": "o", "purpose": "p", "expires": date(2099, 1, 1)}
    return parse_metric("answer", {**table, "mechanism": mechanism, **fields})


def trio(metric: Metric) -> PopulationCounts:
    """Return two devices with the last value and one with the first."""
    last = metric.mechanism.values[-1] if metric.mechanism.values else "v1"
    return PopulationCounts.of({"v0": 1, last: 2})


def test_every_mechanism_is_here() -> None:
    """A mechanism that is installed and not simulated would be missed by all sweeps."""
    assert sorted(TINY) == sorted(BUILT_IN)


@pytest.mark.parametrize("mechanism", sorted(TINY))
def test_joint_law_of_a_small_crowd(mechanism: str) -> None:
    """Tallies of three devices come as often as the client's enumerated law says (chi-square)."""
    metric = tiny(mechanism)
    population = trio(metric)
    law = tally_law(metric, population)
    assert sum(law.values()) == 1
    assert chi_square_p(law, partial(population_tally, metric, population), RUNS, 1) > FALSE_ALARM


@pytest.mark.parametrize("mechanism", sorted(TINY))
def test_cells_of_a_large_crowd(mechanism: str) -> None:
    """Each cell of a million devices is within its exact mean and deviation."""
    metric = tiny(mechanism)
    texts, counts = trio(metric).texts, (700_000, 300_000)
    mean, sd = moments(metric, texts, counts)
    population = PopulationCounts(texts, np.array(counts))
    cells = np.array(flat(population_tally(metric, population, np.random.default_rng(2))))
    # Counts are rounded to whole numbers where their deviation is none at all.
    assert (np.abs(cells - mean) <= Z * sd + 1e-6).all()


def test_wrong_probability_is_caught() -> None:
    """Planted fault: q less by a fifth is seen by both tests."""
    metric = tiny("oue")
    mechanism = cast(Unary, metric.mechanism)
    wrong = replace(metric, mechanism=replace(mechanism, clear_sets=mechanism.clear_sets * 4 // 5))
    population = trio(metric)
    law = tally_law(metric, population)
    assert chi_square_p(law, partial(population_tally, wrong, population), RUNS, 3) < FALSE_ALARM
    large = PopulationCounts(population.texts, np.array([700_000, 300_000]))
    mean, sd = moments(metric, large.texts, large.counts.tolist())
    cells = np.array(flat(population_tally(wrong, large, np.random.default_rng(4))))
    assert (np.abs(cells - mean) > Z * sd).any()


def test_independent_members_are_caught() -> None:
    """Planted fault: a set drawn bit by bit has the right means and the wrong joint law."""
    metric = tiny("subset")
    mechanism = cast(Subset, metric.mechanism)
    unary = replace(
        cast(Unary, tiny("sue", values=6).mechanism),
        set_stays=mechanism.keep,
        clear_sets=int(mechanism.q * 2**64),
    )
    population = trio(metric)
    law = tally_law(metric, population)
    draw = partial(population_tally, replace(metric, mechanism=unary), population)
    assert chi_square_p(law, draw, 200, 5) < FALSE_ALARM


@pytest.mark.parametrize("mechanism", sorted(TINY))
def test_every_device_is_counted_once(mechanism: str) -> None:
    """A tally holds as many reports as there are devices, also where values are many and rare."""
    metric = tiny(mechanism)
    values = metric.mechanism.values or [f"w{i}" for i in range(3000)]
    population = PopulationCounts(tuple(values), np.ones(len(values), dtype=np.int64))
    assert population_tally(metric, population, np.random.default_rng(6)).n == len(values)


def test_a_seed_repeats_a_tally() -> None:
    """The same generator gives the same tally."""
    metric, population = tiny("rappor"), PopulationCounts.of({"a": 500, "b": 20})
    one, same = (
        flat(population_tally(metric, population, np.random.default_rng(7))) for _ in range(2)
    )
    assert one == same


def test_value_outside_the_domain_is_refused() -> None:
    """A text that the metric can't take is refused, and the message does not repeat it."""
    with pytest.raises(ValueError, match="not in `values`") as caught:
        population_tally(
            tiny("krr"), PopulationCounts.of({"elsewhere": 1}), np.random.default_rng(8)
        )
    assert "elsewhere" not in str(caught.value)


def test_drawn_crowd_follows_the_weights() -> None:
    """A crowd of a population has its shares, within five deviations, and all its devices."""
    population = PopulationCounts.drawn(
        Population(("a", "b"), (3.0, 1.0)), 1_000_000, np.random.default_rng(9)
    )
    assert population.n == 1_000_000
    assert abs(population.shares[0] - 0.75) < 5 * (0.75 * 0.25 / 1e6) ** 0.5
