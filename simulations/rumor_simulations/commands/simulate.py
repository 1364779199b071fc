"""`rumor simulate`: sweep mechanisms over epsilons, devices, values; write tables and figures."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rumor_simulations.populations.named import POPULATIONS, PopulationError, named_population
from rumor_simulations.sweep.experiments import EXPERIMENTS, Experiment, Options, run
from rumor_simulations.sweep.figures import draw
from rumor_simulations.sweep.setting import MECHANISMS
from rumor_simulations.tables import TableFormat, write_table

# A fifth of the devices and a tenth of the runs: the shape of each figure in about a minute.
_QUICK_DEVICES = 20_000
_QUICK_SCALE = 0.1

_aside = Console(stderr=True)
_app = typer.Typer(add_completion=False)


def main(argv: list[str]) -> int:
    """Run sweeps; 0 when all are written, 2 for a choice that does not exist."""
    try:
        _app(args=argv, prog_name="rumor simulate")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@_app.command(epilog="Experiments: " + ", ".join(EXPERIMENTS))
def simulate(
    experiments: Annotated[
        list[str] | None, typer.Argument(help="Which to run; all of them by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path("simulated"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same rows.")] = 1,
    chosen: Annotated[
        str, typer.Option("--population", help="One of " + ", ".join(POPULATIONS) + ".")
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
    options = Options(chosen, devices, values, scale, real, tuple(mechanism or MECHANISMS))
    if quick:
        options = replace(options, devices=_QUICK_DEVICES, scale=scale * _QUICK_SCALE)
    names = experiments or list(EXPERIMENTS)
    _check(names, options)
    out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=_aside) as progress:
        for name in names:
            _one(name, EXPERIMENTS[name], options, seed, processes, out, table, progress)


def _one(
    name: str,
    experiment: Experiment,
    options: Options,
    seed: int,
    processes: int,
    out: Path,
    table: TableFormat,
    progress: Progress,
) -> None:
    settings = list(experiment.settings(options))
    if not settings:
        _aside.print(f"{name}: none of the mechanisms chosen takes part", style="yellow")
        return
    task = progress.add_task(experiment.shows, total=len(settings))
    rows = run(settings, experiment.measure, seed, processes, lambda: progress.advance(task))
    path = write_table(rows, out, name, table)
    draw(name, rows, out)
    print(f"{experiment.shows}: {path}, {out / name}.png, {out / name}.svg", flush=True)


def _check(names: list[str], options: Options) -> None:
    for kind, given, known in (
        ("experiment", names, list(EXPERIMENTS)),
        ("mechanism", options.mechanisms, list(MECHANISMS)),
    ):
        for name in given:
            if name not in known:
                _refuse(f"there is no {kind} {name!r}; choose {', '.join(known)}")
    try:
        named_population(options.population, options.values)
    except PopulationError as error:
        _refuse(str(error))


def _refuse(why: str) -> None:
    _aside.print(f"rumor simulate: {why}", style="red", markup=False, soft_wrap=True)
    raise typer.Exit(2)
