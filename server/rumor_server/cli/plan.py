"""`rumor plan`: what a question costs and how well it is answered, before anyone is asked."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Column, Table
from rich.text import Text

from rumor_server.cli.typer_main import AsJson, console, fail, print_json, run
from rumor_server.planner import (
    Option,
    Plan,
    PlanError,
    Target,
    devices_needed,
    epsilon_needed,
    memoised_option,
    plan,
    settle_registry,
)
from rumor_server.planner.plan_fields import Choice
from rumor_shared.errors import RegistryError, RumorError
from rumor_shared.fields import Fields
from rumor_shared.mechanism import MAX_CELLS
from rumor_shared.registry import read_toml

# A hundred for every person: what lies beyond is a slip of the finger.
_MOST_DEVICES = 10**12
# 10^12 devices at epsilon 16 have a standard deviation of 3e-10.
_LEAST_SHARE = 1e-9

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
    lifetime_epsilon: Annotated[
        str | None,
        typer.Option(help="Epsilon of all reports of one value: shows what memory would cost."),
    ] = None,
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
        target = _target(accuracy, detect)
        answer = _answer(values, epsilon, devices, target, max_bytes, lifetime_epsilon)
    except (RumorError, PlanError, OSError) as error:
        raise fail("plan", error) from None
    print_json(answer) if as_json else _show(answer)


def _target(accuracy: float | None, detect: float | None) -> Target | None:
    if accuracy is not None and detect is not None:
        raise PlanError("detect", "is given beside accuracy; give one of them")
    target = None
    if accuracy is not None:
        target = Target("accuracy", accuracy)
    elif detect is not None:
        target = Target("detect", detect)
    if target is not None and target.share < _LEAST_SHARE:
        raise PlanError(target.kind, f"is finer than any crowd can tell; give {_LEAST_SHARE:g} up")
    return target


def _answer(
    values: int | None,
    epsilon: str | None,
    devices: int | None,
    target: Target | None,
    max_bytes: int | None,
    lifetime: str | None,
) -> dict[str, Any]:
    if values is None or values < 2:
        raise PlanError("values", "say how many there are, two or more: --values 1000")
    if values > MAX_CELLS:
        raise PlanError("values", f"no mechanism takes so many; give at most {MAX_CELLS}")
    if devices is not None and not 1 <= devices <= _MOST_DEVICES:
        raise PlanError("devices", f"give 1 to {_MOST_DEVICES}")
    if max_bytes is not None and max_bytes < 1:
        raise PlanError("max_bytes", "the shortest report has 1 byte; give 1 or more")
    names = tuple(f"value {i}" for i in range(values))
    exact = None if epsilon is None else _epsilon("epsilon", epsilon)
    life = None if lifetime is None else _epsilon("lifetime_epsilon", lifetime)
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
    answer = _facts(made, values, exact, devices)
    return answer if life is None else answer | _memory(names, exact, life, devices)


def _epsilon(field: str, text: str) -> Decimal:
    """Return an epsilon that a registry may have. Raises PlanError, which names the field."""
    try:
        # Decimal takes 1_0 and the digits of every script.
        exact = Decimal(text if text.isascii() and "_" not in text else "")
        Fields({"epsilon": exact}, "").epsilon("epsilon")
    except InvalidOperation:
        raise PlanError(field, "is not a number; give for example 1.5") from None
    except RegistryError as error:
        (problem,) = error.problems
        raise PlanError(field, f"{problem.what}; {problem.fix}") from None
    return exact


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


def _memory(
    values: tuple[str, ...], epsilon: Decimal, lifetime: Decimal, devices: int
) -> dict[str, Any]:
    option = memoised_option(values, epsilon, lifetime)
    memory: dict[str, Any] = {"lifetime_epsilon": format(lifetime.normalize(), "f")}
    if isinstance(option, Option):
        memory |= _row(option, devices)
    else:
        memory |= {"mechanism": option.name, "refused": option.reason}
    return {"memory": memory}


def _row(option: Option, devices: int) -> dict[str, Any]:
    accuracy, k = option.accuracy, option.tests
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
    out = console()
    out.print(
        f"{answer['values']:,} values, epsilon {answer['epsilon']} a report, "
        f"{answer['devices']:,} devices"
    )
    table = Table(Column("mechanism", no_wrap=True), box=SIMPLE)
    for heading in ("std. deviation", "at worst", "found at 95%", "bytes", "forgery"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in answer["options"]:
        table.add_row(
            row["mechanism"],
            *(
                f"{100 * row[key]:.3g}%"
                for key in ("standard_deviation", "standard_deviation_worst", "detectable_95")
            ),
            str(row["report_bytes"]),
            f"{row['influence']:.3g}",
        )
    out.print(table)
    out.print("Found at 95%: the smallest share that is called present in 95 of 100 cases.")
    out.print("Forgery: how many honest reports a forged one can count for.")
    for cost, rows in groupby(
        sorted(answer["options"], key=itemgetter("decode_cost")), itemgetter("decode_cost")
    ):
        out.print(Text(f"Decoding grows with {cost}: {', '.join(r['mechanism'] for r in rows)}."))
    for name, reason in answer["refused"].items():
        out.print(Text(f"{name} can't be used: {reason}"))
    if "memory" in answer:
        out.print(Text(_remembered(answer["memory"], answer["epsilon"])))
    fields = "".join(f", {key} = {value}" for key, value in answer["fields"].items())
    chosen = f'Take mechanism = "{answer["recommended"]}"{fields}: {answer["reason"]}.'
    out.print(Text(chosen, "bold"))
    for name, reason in answer["passed_over"].items():
        out.print(Text(f"Not {name}: {reason}."))


def _remembered(memory: dict[str, Any], epsilon: str) -> str:
    name, life = memory["mechanism"], memory["lifetime_epsilon"]
    if "refused" in memory:
        return f"With memory, {name} can't be used: {memory['refused']}"
    return (
        f"With memory: {name}, epsilon {epsilon} for the first report of a value and {life} for "
        f"all of them, has a standard deviation of {100 * memory['standard_deviation']:.3g}% and "
        f"{memory['report_bytes']} bytes a report. It suits a device that answers every day, and "
        "does not hide whether an answer changed. Only the first `max_values` values of a device, "
        "which the registry must declare, are followed: later changes of its answer are not seen."
    )


def _write(file: Path, max_bytes: int | None, as_json: bool) -> None:
    body = file.read_bytes()
    read_toml(body, str(file))
    settled, choices = settle_registry(body.decode(), max_bytes=max_bytes, source=str(file))
    if choices:
        # A registry is never half written: a reader sees the old file or the new one.
        new = file.with_name(f".{file.name}.new")
        try:
            new.write_bytes(settled.encode())
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
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
