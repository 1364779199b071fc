"""`rumor plan`: what a question costs and how well it is answered, before anyone is asked."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from rumor_server.commands.typer_main import AsJson, fail, print_json, run
from rumor_server.planner import (
    Option,
    Plan,
    PlanError,
    Target,
    devices_needed,
    epsilon_needed,
    plan,
    settle_registry,
)
from rumor_server.planner.settling import Choice
from rumor_shared.errors import RumorError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def plan_command(
    values: Annotated[int | None, typer.Option(help="How many values there are.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Epsilon of one report.")] = None,
    devices: Annotated[int | None, typer.Option(help="How many devices report.")] = None,
    accuracy: Annotated[
        float | None, typer.Option(help="Standard deviation wanted, as a share of 1.")
    ] = None,
    detect: Annotated[float | None, typer.Option(help="Share to find with 95% power.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Longest report, in bytes.")] = None,
    write: Annotated[
        Path | None, typer.Option(help='A registry: replace each mechanism = "auto".')
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare all mechanisms for a question, and say which to take and why.

    Give --values, and --epsilon and --devices; or leave one of these two out and say what is
    wanted, with --accuracy or --detect: it is found. Or give --write and a registry alone.
    """
    try:
        if write is not None:
            _write(write, max_bytes, as_json)
            return
        answer = _answer(values, epsilon, devices, _target(accuracy, detect), max_bytes)
    except (RumorError, PlanError, OSError, UnicodeDecodeError) as error:
        raise fail("plan", str(error)) from None
    print_json(answer) if as_json else _show(answer)


def _target(accuracy: float | None, detect: float | None) -> Target | None:
    if accuracy is not None and detect is not None:
        raise PlanError("detect", "is given beside accuracy; give one of them")
    if accuracy is not None:
        return Target("accuracy", accuracy)
    return None if detect is None else Target("detect", detect)


def _answer(
    values: int | None,
    epsilon: str | None,
    devices: int | None,
    target: Target | None,
    max_bytes: int | None,
) -> dict[str, Any]:
    if values is None or values < 2:
        raise PlanError("values", "say how many there are, two or more: --values 1000")
    if devices is not None and devices < 1:
        raise PlanError("devices", "there must be one or more")
    names = tuple(f"value {i}" for i in range(values))
    exact = None if epsilon is None else _decimal(epsilon)
    if exact is not None and devices is not None and target is None:
        made = plan(names, exact, max_bytes=max_bytes)
    elif exact is not None and devices is None and target is not None:
        made, devices = devices_needed(names, exact, target, max_bytes=max_bytes)
    elif exact is None and devices is not None and target is not None:
        made, exact = epsilon_needed(names, devices, target, max_bytes=max_bytes)
    else:
        raise PlanError(
            "epsilon, devices, accuracy or detect",
            "give two of the three: --epsilon, --devices, and one of --accuracy and --detect",
        )
    return _facts(made, values, exact, devices)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise PlanError("epsilon", "is not a number; give for example 1.5") from None


def _facts(made: Plan, values: int, epsilon: Decimal, devices: int) -> dict[str, Any]:
    return {
        "values": values,
        "epsilon": format(epsilon.normalize(), "f"),
        "devices": devices,
        "recommended": made.chosen.name,
        "fields": dict(made.chosen.fields),
        "reason": made.reason,
        "passed_over": dict(made.passed_over),
        "options": [_row(option, devices) for option in made.options],
        "refused": {refusal.name: refusal.reason for refusal in made.refusals},
    }


def _row(option: Option, devices: int) -> dict[str, Any]:
    accuracy, k = option.accuracy, option.k
    return {
        "mechanism": option.name,
        "standard_deviation": accuracy.deviation(devices),
        "standard_deviation_worst": accuracy.worst_deviation(devices),
        "detectable_95": accuracy.detectable(devices, k, power=0.95),
        "detectable_50": accuracy.detectable(devices, k, power=0.5),
        "report_bytes": option.report_bytes,
        "tally_cells": option.cells,
        "influence": accuracy.influence,
        "decode_cost": option.decode_cost,
    }


def _show(answer: dict[str, Any]) -> None:
    print(
        f"{answer['values']} values, epsilon {answer['epsilon']} a report, "
        f"{answer['devices']} devices"
    )
    table = Table(
        Column("mechanism", no_wrap=True),
        "std. deviation",
        "at worst",
        "found at 95%",
        "bytes",
        "one forgery counts",
        "decoding",
    )
    for row in answer["options"]:
        table.add_row(
            row["mechanism"],
            *(
                f"{100 * row[key]:.3g}%"
                for key in ("standard_deviation", "standard_deviation_worst", "detectable_95")
            ),
            str(row["report_bytes"]),
            f"{row['influence']:.3g}",
            row["decode_cost"],
        )
    Console().print(table)
    for name, reason in answer["refused"].items():
        print(f"{name} can't be used: {reason}")
    fields = "".join(f", {key} = {value}" for key, value in answer["fields"].items())
    print(f'Take mechanism = "{answer["recommended"]}"{fields}: {answer["reason"]}.')
    for name, reason in answer["passed_over"].items():
        print(f"Not {name}: {reason}.")


def _write(file: Path, max_bytes: int | None, as_json: bool) -> None:
    settled, choices = settle_registry(
        file.read_text(encoding="utf-8"), max_bytes=max_bytes, source=str(file)
    )
    if choices:
        # A registry is never half written: a reader sees the old file or the new one.
        beside = file.with_name(f".{file.name}.new")
        beside.write_text(settled, encoding="utf-8")
        beside.replace(file)
    if as_json:
        print_json({"chosen": [_choice(choice) for choice in choices]})
        return
    if not choices:
        print(f'{file}: no metric says mechanism = "auto"; nothing to choose')
    for choice in choices:
        print(f"{choice.metric}: {choice.plan.reason}")


def _choice(choice: Choice) -> dict[str, Any]:
    chosen = choice.plan.chosen
    return {
        "metric": choice.metric,
        "mechanism": chosen.name,
        "fields": dict(chosen.fields),
        "reason": choice.plan.reason,
    }


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "plan")
