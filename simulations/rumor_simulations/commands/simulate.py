"""`rumor simulate`: sweep mechanisms over epsilons, devices, values; write tables and figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rumor_simulations.commands.progress import aside, progress, say
from rumor_simulations.populations import POPULATION_NAMES
from rumor_simulations.sweep.setting import EXPERIMENT_NAMES, MECHANISMS
from rumor_simulations.tables import TableFormat, write_table

# numpy, scipy and matplotlib take seconds to load: first it is said that something goes on.
if TYPE_CHECKING:
    from rumor_simulations.sweep.experiments import Experiment, Options

# A fifth of the devices and a tenth of the runs: the shape of each figure in about a minute.
_QUICK_DEVICES = 20_000
_QUICK_SCALE = 0.1

_app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(argv: list[str]) -> int:
    """Run sweeps; 0 when all are written, 2 for a choice that does not exist."""
    try:
        _app(args=argv, prog_name="rumor simulate")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@_app.command(epilog="Experiments: " + ", ".join(EXPERIMENT_NAMES))
def simulate(
    experiments: Annotated[
        list[str] | None, typer.Argument(help="Which to run; all of them by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path("simulated"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same rows.")] = 1,
    chosen: Annotated[
        str, typer.Option("--population", help="One of " + ", ".join(POPULATION_NAMES) + ".")
    ] = "zipf",
    devices: Annotated[int, typer.Option(min=1000, help="Devices of a run.")] = 100_000,
    values: Annotated[int, typer.Option(min=4, help="Values of a domain.")] = 64,
    mechanism: Annotated[
        list[str] | None, typer.Option(help="Only this one; may be repeated.")
    ] = None,
    scale: Annotated[float, typer.Option(min=0.01, help="Multiplies the number of runs.")] = 1.0,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{_QUICK_DEVICES:,} devices and a tenth of the runs.")
    ] = False,
    real: Annotated[
        bool, typer.Option("--real", help="Play every device with the client's own code.")
    ] = False,
    table: Annotated[
        TableFormat, typer.Option("--format", help="How rows are written.")
    ] = TableFormat.PARQUET,
    processes: Annotated[
        int, typer.Option(min=1, help="Processes that run settings.")
    ] = os.cpu_count() or 1,
) -> None:
    """Sweep mechanisms over epsilons, devices and values, and write tables and figures.

    Whole crowds are drawn from their exact law, ten million devices in seconds; --real plays each
    device with the client's own code.
    """
    names = experiments or list(EXPERIMENT_NAMES)
    _check("experiment", names, EXPERIMENT_NAMES)
    _check("mechanism", mechanism or MECHANISMS, MECHANISMS)
    say("simulate", f"{', '.join(names)}; tables and figures go to {out}")
    from rumor_simulations.populations.named import PopulationError, named_population
    from rumor_simulations.sweep.experiments import EXPERIMENTS, Options

    options = Options(chosen, devices, values, scale, real, tuple(mechanism or MECHANISMS))
    if quick:
        options = replace(options, devices=_QUICK_DEVICES, scale=scale * _QUICK_SCALE)
    try:
        named_population(options.population, options.values)
    except PopulationError as error:
        _refuse(str(error))
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        _one(name, EXPERIMENTS[name], options, seed, processes, out, table)


def _one(
    name: str,
    experiment: Experiment,
    options: Options,
    seed: int,
    processes: int,
    out: Path,
    table: TableFormat,
) -> None:
    from rumor_simulations.sweep.experiments import run
    from rumor_simulations.sweep.figures import draw

    settings = list(experiment.settings(options))
    if not settings:
        aside.print(f"{name}: none of the mechanisms chosen takes part", style="yellow")
        return
    with progress("simulate", experiment.shows, len(settings)) as advance:
        rows = run(settings, experiment.measure, seed, processes, lambda: advance(1))
    path = write_table(rows, out, name, table)
    draw(name, rows, out)
    print(f"{experiment.shows}: {path}, {out / name}.png, {out / name}.svg", flush=True)


def _check(kind: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            _refuse(f"there is no {kind} {name!r}; choose {', '.join(known)}")


def _refuse(why: str) -> None:
    aside.print(f"rumor simulate: {why}", style="red", markup=False, soft_wrap=True)
    raise typer.Exit(2)
