"""`rumor attack REGISTRY`: attack the people and the results of every metric of a registry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from rumor_shared.errors import RegistryError
from rumor_shared.os_errors import explain
from rumor_shared.registry import load_registry
from rumor_simulations.commands.progress import aside, progress, say
from rumor_simulations.tables import TableFormat, write_table

# numpy and matplotlib take seconds to load: first it is said that something goes on.
if TYPE_CHECKING:
    from rumor_simulations.attacks.campaign import Poisoned
    from rumor_simulations.attacks.outcome import Outcome

_app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(argv: list[str]) -> int:
    """Run the attacks; 0 when all are done, 2 for a registry that is wrong."""
    try:
        _app(args=argv, prog_name="rumor attack")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@_app.command()
def attack(
    registry: Annotated[Path, typer.Argument(help="The registry whose metrics are attacked.")],
    out: Annotated[
        Path | None, typer.Option(help="Write a table and figures into this folder.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same attacks.")] = 1,
    devices: Annotated[int, typer.Option(min=100, help="Devices that are attacked.")] = 500,
    table: Annotated[
        TableFormat, typer.Option("--format", help="How the table is written.")
    ] = TableFormat.CSV,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Attack every metric: guess values, average over days, link days, find people, poison results.

    Each success stands beside chance and beside the most that the declared epsilon allows. Devices
    run the client's own code; the attacker knows all but their values.
    """
    try:
        parsed = load_registry(registry)
    except (RegistryError, OSError) as error:
        said = explain(error) if isinstance(error, OSError) else str(error)
        aside.print(said, style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    say("attack", f"{len(parsed.metrics)} metrics, {devices:,} devices")
    from rumor_simulations.attacks.campaign import attack_people, attack_results, is_known

    for metric in parsed.metrics.values():
        if not is_known(metric):
            say(
                "attack",
                f"not attacked, its permanent answers are of a kind unknown: {metric.name}",
            )
    with progress("attack", "attacking", len(parsed.metrics) + 2) as advance:
        outcomes = attack_people(parsed, devices, seed, lambda _: advance(1))
        poisoned = attack_results(parsed, seed)
        advance(1)
    if out is not None:
        from rumor_simulations.attacks.figures import draw_people, draw_poisoning

        out.mkdir(parents=True, exist_ok=True)
        write_table([outcome.row for outcome in outcomes], out, "attacks", table)
        draw_people(outcomes, out)
        if poisoned:
            write_table([_flat(p) for p in poisoned], out, "poisoning", table)
            draw_poisoning(poisoned, out)
    if as_document:
        document = {
            "attacks": [outcome.row for outcome in outcomes],
            "poisoning": [_flat(p) for p in poisoned],
        }
        print(json.dumps(document, allow_nan=False))
    else:
        _print(outcomes, poisoned)


def _print(outcomes: Sequence[Outcome], poisoned: Sequence[Poisoned]) -> None:
    from rumor_simulations.attacks.poisoning import UNCAPPED

    console = Console()
    people = Table(title="What an attacker learns of a device", title_justify="left", box=None)
    people.add_column("attack", no_wrap=True)
    for heading in ("metric", "with"):
        people.add_column(heading, overflow="fold")
    for heading in ("success", "95%", "chance", "allowed"):
        people.add_column(heading, justify="right")
    for outcome in outcomes:
        people.add_row(
            outcome.attack,
            outcome.metric,
            f"{outcome.x} {outcome.unit}",
            f"{outcome.success:.1%}",
            # Rounded outwards, so that no bound is nearer than it is.
            f"{floor(100 * outcome.low)}-{ceil(100 * outcome.high)}",
            f"{outcome.chance:.1%}",
            "no bound" if outcome.allowed is None else f"{outcome.allowed:.1%}",
        )
    console.print(people)
    console.print(
        "95%: the interval in % that holds the true success with 95%, from the devices that were "
        "tried. A success above what is allowed is chance while its interval begins below.",
        highlight=False,
    )
    results = Table(title="What 5% of fakes gain", title_justify="left", box=None)
    for heading in ("metric", "fakes send"):
        results.add_column(heading, overflow="fold")
    for heading in ("r", "gain", "formula", "Norm-Sub", "uncapped"):
        results.add_column(heading, justify="right", no_wrap=True)
    for one in poisoned:
        results.add_row(
            one.metric,
            str(one.gain.poison),
            str(one.targets),
            f"{one.gain.gain:.1%} ±{2 * one.gain.std_error:.1%}",
            f"{one.gain.predicted:.1%}",
            f"{one.gain.consistent:.1%}",
            f"{one.gain.uncapped:.0%}",
        )
    console.print(results)
    console.print(
        "r: targets, the rarest values. Gain: the mean of the runs and two standard errors of it. "
        "Norm-Sub: the gain on estimates made consistent. Uncapped: "
        f"by formula, were each fake to send {UNCAPPED} reports for one of an honest device. "
        "Hidden: no test of weight finds it.",
        highlight=False,
    )


def _flat(poisoned: Poisoned) -> dict[str, object]:
    one = asdict(poisoned)
    gain = one.pop("gain")
    return {**one, **gain, "poison": str(poisoned.gain.poison)}
