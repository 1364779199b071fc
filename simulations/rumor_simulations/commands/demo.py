"""`rumor demo`: play real clients against a real collector and compare estimates with the truth."""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from rumor_shared.epsilon import from_micro
from rumor_shared.registry import parse_registry
from rumor_simulations.commands.progress import aside, progress, say
from rumor_simulations.demo.collector import DATABASE, Collector, CollectorFailed
from rumor_simulations.demo.comparison import Comparison, compare, find_faults
from rumor_simulations.demo.device import DeviceFailed, Played, play
from rumor_simulations.demo.report import print_report
from rumor_simulations.demo.scenario import SCENARIOS, Scenario

_app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(argv: list[str]) -> int:
    """Run the demo; 0 if every acknowledged report was counted and the intervals are plausible."""
    try:
        _app(args=argv, prog_name="rumor demo")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@_app.command()
def demo(
    devices: Annotated[int, typer.Option(min=1, help="How many devices play.")] = 20_000,
    seed: Annotated[
        int | None, typer.Option(help="Repeat a population; the noise is never repeated.")
    ] = None,
    surnames: Annotated[
        bool, typer.Option("--surnames", help="One question with 88,799 possible answers.")
    ] = False,
    processes: Annotated[
        int, typer.Option(min=1, help="Processes that play devices.")
    ] = os.cpu_count() or 1,
    keep: Annotated[
        Path | None, typer.Option(help="Keep registry, database and log in this folder.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Keep the collector up until Ctrl-C.")
    ] = False,
) -> None:
    """Play devices with real shares against a real collector, then compare with the truth."""
    # Ended from outside, the demo must still stop its collector.
    signal.signal(signal.SIGTERM, _terminated)
    start = time.monotonic()
    say("demo", f"{devices:,} devices, and a collector of their own")
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    scenario = SCENARIOS["surnames" if surnames else "browsers"](devices, random.Random(seed))
    try:
        with _folder(keep) as folder, Collector(folder, scenario.registry) as collector:
            played = _play(scenario, collector.url, processes)
            comparisons = _compare(scenario, played, collector)
            took = time.monotonic() - start
            if as_json:
                _print_json(collector.url, devices, took, comparisons)
            else:
                _print_tables(collector.url, devices, took, comparisons, seed)
            faults = find_faults(played.acknowledged, comparisons)
            for fault in faults:
                aside.print(f"fault: {fault}", style="red", markup=False)
            if serve:
                _stay_up(collector)
    except (CollectorFailed, DeviceFailed) as error:
        aside.print(f"rumor demo: {error}", style="red", markup=False)
        raise typer.Exit(1) from None
    raise typer.Exit(1 if faults else 0)


def _terminated(number: int, frame: object) -> NoReturn:
    # What a shell reports for a process that a signal ended.
    raise SystemExit(128 + number)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="rumor-demo-") as folder:
            yield Path(folder)
        return
    if (keep / DATABASE).exists():
        raise typer.BadParameter(
            "the folder holds the reports of an earlier demo; choose another", param_hint="--keep"
        )
    keep.mkdir(parents=True, exist_ok=True)
    yield keep


def _play(scenario: Scenario, url: str, processes: int) -> Played:
    with progress("demo", "devices", len(scenario.devices)) as advance:
        return play(scenario, url, processes, advance)


def _compare(scenario: Scenario, played: Played, collector: Collector) -> list[Comparison]:
    comparisons = []
    for metric in parse_registry(scenario.registry).metrics.values():
        with aside.status(f"estimating {metric.name}"):
            answer = collector.estimates(metric.name, scenario.candidates.get(metric.name))
        comparisons.append(
            Comparison(
                name=metric.name,
                mechanism=metric.mechanism.name,
                epsilon=float(from_micro(metric.mechanism.epsilon_report)),
                reports=answer["n"],
                open_domain=metric.mechanism.values is None,
                rows=compare(answer["rows"], played.recorded[metric.name]),
            )
        )
    return comparisons


def _print_json(url: str, devices: int, took: float, comparisons: list[Comparison]) -> None:
    metrics = [comparison.as_json() for comparison in comparisons]
    document = {"url": url, "devices": devices, "seconds": round(took, 3), "metrics": metrics}
    print(json.dumps(document, allow_nan=False), flush=True)


def _print_tables(
    url: str, devices: int, took: float, comparisons: list[Comparison], seed: int
) -> None:
    console = Console()
    print_report(console, comparisons)
    console.print(f"{devices:,} devices of population {seed} in {took:.1f} s, by {url}")


def _stay_up(collector: Collector) -> None:
    aside.print(f"The collector listens at {collector.url} until Ctrl-C.")
    with suppress(KeyboardInterrupt):
        collector.wait()
        raise CollectorFailed(f"the collector ended by itself; see {collector.log}")
