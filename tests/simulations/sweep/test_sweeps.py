"""Sweeps measure what they say, repeat from a seed, and end as tables and figures."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from rumor_simulations.commands.simulate import main
from rumor_simulations.population import PopulationCounts
from rumor_simulations.populations.named import (
    POPULATIONS,
    PopulationError,
    named_population,
    words,
)
from rumor_simulations.sweep.experiments import EXPERIMENTS, SLOW, Options, run, seed_of
from rumor_simulations.sweep.figures import FIGURES
from rumor_simulations.sweep.measures import accuracy, draw_tally, estimated, measure
from rumor_simulations.sweep.setting import MECHANISMS, Setting, sweep_metric

FAST = ("subset", "oue", "krr")


def setting(mechanism: str, **changed: object) -> Setting:
    """Return a small setting."""
    fields: dict[str, object] = {
        "experiment": "epsilon",
        "mechanism": mechanism,
        "epsilon": "1",
        "n": 2000,
        "k": 8,
        "population": "zipf",
        "run": 0,
    }
    return Setting(**{**fields, **changed})  # type: ignore[arg-type]


def test_every_experiment_has_a_figure() -> None:
    """What is measured is drawn."""
    assert EXPERIMENTS.keys() == FIGURES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_error_is_the_stated_one(mechanism: str) -> None:
    """Root mean square errors and stated standard errors agree within five of their deviations.

    Errors of eight values in a run are nearly independent; the mean square of m has a relative
    deviation of sqrt(2 / m), and five of them are a false-alarm rate of 6e-7.
    """
    runs = 6 if mechanism in SLOW else 20
    rows = run([setting(mechanism, run=i) for i in range(runs)], measure, 1)
    square = fmean(row["rmse"] ** 2 for row in rows)
    stated = fmean(row["stated_rmse"] ** 2 for row in rows)
    assert abs(square / stated - 1) < 5 * math.sqrt(2 / (8 * runs))
    assert all(row["intervals"] == 8 and 0 <= row["hold"] <= 8 for row in rows)


def test_wrong_debiasing_is_caught() -> None:
    """Planted fault: counts read at another epsilon are wrong by far more than stated."""
    rng = np.random.default_rng(1)
    population = PopulationCounts.drawn(named_population("zipf", 8), 2000, rng)
    tally = draw_tally(setting("oue"), sweep_metric("oue", "1", population.texts), population, rng)
    found = accuracy(
        estimated(sweep_metric("oue", "2", population.texts), tally, population), population.shares
    )
    assert found["rmse"] > 5 * found["stated_rmse"]


def test_row_depends_on_seed_and_setting_alone() -> None:
    """A setting gives the same row alone, among others and in another process."""
    settings = [setting(m) for m in FAST]

    def measured(rows: list[dict[str, object]]) -> list[object]:
        return [row["rmse"] for row in rows]

    alone = [measured(run([s], measure, 7))[0] for s in settings]
    assert measured(run(settings, measure, 7)) == alone
    assert measured(run(settings, measure, 7, processes=2)) == alone
    assert measured(run(settings, measure, 8)) != alone
    assert seed_of(7, settings[0]).entropy != seed_of(7, settings[1]).entropy


def test_played_and_drawn_crowds_agree() -> None:
    """Estimates of devices that run the client's code are as near the truth as drawn ones."""
    rows = run([setting("subset", run=i, real=True) for i in range(10)], measure, 1)
    square = fmean(row["rmse"] ** 2 / row["stated_rmse"] ** 2 for row in rows)
    assert abs(square - 1) < 5 * math.sqrt(2 / 80)


@pytest.mark.parametrize("name", sorted(POPULATIONS))
def test_populations_have_the_values_asked_for(name: str) -> None:
    """Each population has at most k values, and its shares sum to 1."""
    try:
        found = named_population(name, 12)
    except PopulationError as missing:
        pytest.skip(str(missing))
    assert 2 <= len(found.values) <= 12
    assert math.fsum(found.shares.values()) == pytest.approx(1)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A population whose package is absent says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PopulationError, match="pip install symspellpy"):
        words(10)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_experiment_is_written_and_drawn(name: str, tmp_path: Path) -> None:
    """One command writes a table, a PNG and an SVG of each experiment."""
    arguments = [name, "--out", str(tmp_path), "--devices", "1000", "--values", "4"]
    chosen = [word for m in ("oue", "basic_rappor") for word in ("--mechanism", m)]
    few = ["--scale", "0.01", "--processes", "1", "--format", "csv"]
    assert main([*arguments, *chosen, *few]) == 0
    with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert {row["experiment"] for row in rows} == {name}
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / f"{name}.svg").read_bytes()


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    """The default table is Parquet, and it reads back."""
    parquet = pytest.importorskip("pyarrow.parquet")
    few = ["--devices", "1000", "--scale", "0.01", "--processes", "1"]
    assert main(["opt_in", "--out", str(tmp_path), "--mechanism", "krr", *few]) == 0
    table = parquet.read_table(tmp_path / "opt_in.parquet")
    assert set(table.column("mechanism").to_pylist()) == {"krr"}


@pytest.mark.parametrize(
    "words",
    [["unheard"], ["epsilon", "--population", "unheard"], ["epsilon", "--mechanism", "unheard"]],
)
def test_unknown_choice_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A choice that does not exist ends with 2 and the list of those that do."""
    assert main([*words, "--out", str(tmp_path / "none")]) == 2
    assert "choose" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_drift_shows_the_lag_of_capped_answers() -> None:
    """Fresh noise follows a population that moves; one permanent value a device does not."""
    options = Options(devices=1500, scale=0.1, mechanisms=("oue", "basic_rappor"))
    experiment = EXPERIMENTS["drift"]
    rows = run(list(experiment.settings(options)), experiment.measure, 1)
    last = {(r["mechanism"], r["max_values"]): r for r in rows if r["day"] == 11}
    truth = last["oue", 0]["share"]
    assert last["oue", 0]["low"] - 0.1 < truth < last["oue", 0]["high"] + 0.1
    assert last["basic_rappor", 1]["high"] < truth
    assert abs(last["basic_rappor", 4]["estimate"] - truth) < 0.15


def test_opt_in_bias_is_beyond_any_interval() -> None:
    """The interval holds the share of those who agreed, and not that of everyone."""
    experiment = EXPERIMENTS["opt_in"]
    options = Options(devices=100_000, scale=0.1, mechanisms=("subset",))
    chosen = [s for s in experiment.settings(options) if s.extra["tilt"] == 0.5]
    rows = run(chosen, experiment.measure, 1)
    assert not any(row["holds_share"] for row in rows)
    assert all(row["estimate"] > row["share"] + 0.1 for row in rows)
