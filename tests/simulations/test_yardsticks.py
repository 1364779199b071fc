"""Published numbers are reproduced, and the table of them is made, not typed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from rumor_server.statistics.mechanisms import estimate_metric
from rumor_simulations.mechanisms import population_tally
from rumor_simulations.yardsticks.identities import measure_identities, measure_shuffling
from rumor_simulations.yardsticks.populations import question, spike, zipf
from rumor_simulations.yardsticks.unoffered import (
    BlockHadamard,
    measure_numbers,
    measure_two_rounds,
)
from rumor_simulations.yardsticks.variances import (
    mean_squares,
    measure_pgr_files,
    measure_spikes,
    subset_tally,
)
from rumor_simulations.yardsticks.yardstick import Yardstick, table

DOCUMENT = Path(__file__).parents[2] / "docs" / "accuracy.md"


def test_numbers_that_follow_from_parameters() -> None:
    """Y11 and Y12 come out of the shipped integers, to the digits published."""
    yardsticks = list(measure_identities())
    assert [one.name for one in yardsticks] == ["Y11"] * 4 + ["Y12"] * 3
    for one in yardsticks:
        assert one.reproduced
        assert one.published is not None
        assert one.measured == pytest.approx(one.published, rel=5e-4)


@pytest.mark.slow
def test_measurements_are_reproduced() -> None:
    """Y1 to Y4 with two runs, Y8 with eighty: within five standard errors of the prediction."""
    yardsticks = [*measure_pgr_files(2), *measure_spikes(80)]
    assert len(yardsticks) == 13
    for one in yardsticks:
        assert one.reproduced, one.what
        # Y1 to Y4 were published with errors of about 1%, Y8 with .5%.
        assert one.predicted == pytest.approx(one.published, rel=0.015)
        # Two runs say little of their own spread, so what they found is held to a share as well.
        assert one.measured == pytest.approx(one.predicted, rel=0.05)


@pytest.mark.slow
def test_error_of_dependent_squares() -> None:
    """S-08: squares of a pgr spike go together; the spread of runs says so (false alarms 1e-6)."""
    metric, rng = question("pgr", "5", 1000), np.random.default_rng(9)
    squares = mean_squares(metric, lambda: spike(1000, 1000), population_tally, 400, rng)
    variance = float(squares.mean())
    as_if_independent = variance * (2 / 1000) ** 0.5
    assert squares.std(ddof=1) > 3 * as_if_independent
    of_runs = squares.reshape(40, 10)
    t = (of_runs.mean(axis=1) - variance) / (of_runs.std(axis=1, ddof=1) / 10**0.5)
    # The scale of forty t's of nine degrees of freedom is 1.13; six times as much is the fault.
    assert np.median(np.abs(t)) < 1.6


def test_a_single_run_has_no_error() -> None:
    """One run is refused: nothing tells how far it may be off."""
    with pytest.raises(ValueError, match="at least 2"):
        list(measure_spikes(1))


def test_few_runs_are_not_taken_for_many() -> None:
    """Five errors that were estimated from few runs are no five sigmas: z tells the difference."""
    few = Yardstick("Y", "what", 100.0, None, 106.0, 1.0, freedom=9)
    many = Yardstick("Y", "what", 100.0, None, 106.0, 1.0, freedom=10_000)
    known = Yardstick("Y", "what", 100.0, None, 106.0, 1.0)
    assert few.reproduced
    assert not many.reproduced
    assert known.z == 6
    assert few.z == pytest.approx(3.72, abs=0.01)
    assert Yardstick("Y", "what", 100.0, None, 94.0, 1.0, freedom=9).z == pytest.approx(
        -3.72, abs=0.01
    )


def test_miss_is_seen() -> None:
    """Planted fault: a measurement six standard errors off is not called reproduced."""
    hit = Yardstick("Y", "what", 100.0, 101.0, 104.9, 1.0)
    miss = Yardstick("Y", "what", 100.0, 101.0, 106.0, 1.0)
    assert hit.reproduced
    assert not miss.reproduced
    assert not Yardstick("Y", "what", 4.3944, 4.3944, 4.3951, 0, 5).reproduced
    assert "+6.0 **not reproduced** |" in table([miss])
    assert "not reproduced" not in table([hit])


def test_document_is_what_was_made() -> None:
    """docs/accuracy.md has a row for each yardstick, with today's head and computed numbers."""
    document = DOCUMENT.read_text(encoding="utf-8")
    names = re.findall(r"^\| ([A-Z]+\d*) \|", document, re.MULTILINE)
    expected = ["Y1", "Y1", "Y2", "Y2", *["Y3"] * 3, *["Y4"] * 3, *["Y8"] * 3, "LH"]
    expected += ["Y15", *["Y18"] * 3, *["Y10"] * 2, *["Y11"] * 4, *["Y12"] * 3]
    assert names == expected + ["Y13"] * 2 + ["Y14"] * 6
    assert document.startswith(table([]))
    computed = [
        *measure_shuffling(),
        *measure_identities(),
        *measure_numbers(),
        *measure_two_rounds(),
    ]
    assert document.endswith(table(computed).removeprefix(table([])))
    assert "not reproduced" not in document


def test_sets_are_drawn_by_their_law() -> None:
    """The short way to draw sets has the mean and the variance of the long way (5 sigmas)."""
    metric = question("subset", "1", 12)
    rng = np.random.default_rng(3)
    population = spike(12, 400)
    runs = [estimate_metric(metric, subset_tally(metric, population, rng)) for _ in range(200)]
    scores = np.array([(run.frequency - population.shares) / run.std_error for run in runs])
    assert np.abs(scores.mean(axis=0)).max() < 5 / 200**0.5
    # Twelve scores of a run are dependent: they add up to nothing.
    assert abs(np.square(scores).mean() - 1) < 5 * (2 / 200) ** 0.5


def test_blocks_are_drawn_by_their_law() -> None:
    """The estimator of the published blocks is unbiased, with its exact variance (5 sigmas)."""
    response = BlockHadamard.of(40, 2.0)
    assert response.blocks == 4
    held = zipf(40, 3000, 1.0, np.random.default_rng(4)).counts
    rng, runs = np.random.default_rng(5), 2000
    errors = np.array([response.estimate(response.draw(held, rng)) - held for _ in range(runs)])
    variance = response.mean_variance(held)
    assert np.abs(errors.mean(axis=0)).max() < 5 * (4 * variance / runs) ** 0.5
    assert np.square(errors).mean() == pytest.approx(variance, rel=0.05)
