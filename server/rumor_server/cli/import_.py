"""`rumor import`: estimates from what other collectors counted."""

from __future__ import annotations

import csv
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from rumor_server.cli.typer_main import AsJson, console, fail, run
from rumor_server.queries.question import LEAST_ALPHA
from rumor_server.rappor_import.analysis import COLUMNS, ImportedEstimates, import_rappor
from rumor_server.rappor_import.files import RapporFileError
from rumor_shared.rappor_md5 import RapporClient

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


class Format(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class Correction(StrEnum):
    """What `significant` keeps below alpha: the share of false ones, or the chance of any."""

    FDR = "fdr"
    BONFERRONI = "bonferroni"


@app.callback()
def formats() -> None:
    """Estimate from what other collectors counted."""


@app.command()
def rappor(
    params: Annotated[Path, typer.Option(help="Parameters: header k,h,m,p,q,f and one row.")],
    counts: Annotated[Path, typer.Option(help="A row a cohort: reports, then k bit counts.")],
    map_: Annotated[
        Path | None,
        typer.Option("--map", help="A row a candidate: its name, then m x h indices from 1."),
    ] = None,
    client: Annotated[
        RapporClient, typer.Option(help="Whose effective f made the reports.")
    ] = RapporClient.EXACT,
    format_: Annotated[
        Format, typer.Option("--format", help="table shows the significant candidates alone.")
    ] = Format.TABLE,
    alpha: Annotated[float, typer.Option(help="Level of tests and intervals.")] = 0.05,
    correction: Annotated[
        Correction, typer.Option(help="What the level holds for, over all candidates.")
    ] = Correction.FDR,
    as_json: AsJson = False,
) -> None:
    """Decode the files of Google's RAPPOR analysis.

    Frequency, std_error, low and high are shares of 1; the bounds of significant candidates are
    adjusted for the selection.
    """
    if not LEAST_ALPHA <= alpha < 1:
        raise typer.BadParameter(
            f"choose a level from {LEAST_ALPHA:g} to 1, such as 0.05", param_hint="--alpha"
        )
    level: Literal["fdr", "bonferroni"] = correction.value
    try:
        estimates, counted = import_rappor(
            params, counts, map_, client=client, alpha=alpha, correction=level
        )
    except RapporFileError as error:
        raise fail("import", error) from None
    if counted.surplus:
        typer.echo(
            f"rumor import: {counts}: passed over {counted.surplus} columns of zeros after bit "
            f"{counted.counts.shape[1] - 1}",
            err=True,
        )
    if counted.counts.shape[1] == 1 and map_ is not None:
        typer.echo(f"rumor import: {map_}: not read, since k = 1 is a boolean", err=True)
    match Format.JSON if as_json else format_:
        case Format.CSV:
            _print_csv(estimates)
        case Format.JSON:
            _print_json(estimates, client, alpha, correction)
        case Format.TABLE:
            _print_table(estimates, alpha, correction)


def _print_csv(estimates: ImportedEstimates) -> None:
    writer = csv.DictWriter(sys.stdout, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in estimates.rows():
        significant = {True: "true", False: "false"}.get(row["significant"])
        writer.writerow({**row, "significant": significant})


def _print_json(
    estimates: ImportedEstimates, client: RapporClient, alpha: float, correction: Correction
) -> None:
    head = {
        "n": estimates.n,
        "client": client,
        "alpha": alpha,
        "correction": correction,
        "unexplained": estimates.unexplained,
        "unexplained_std_error": estimates.unexplained_std_error,
    }
    # Row by row: a million of them need not stand in memory as one text.
    print(json.dumps(head, allow_nan=False)[:-1] + ', "rows": [')
    separator = " "
    for row in estimates.rows():
        print(separator + json.dumps(row, allow_nan=False))
        separator = ","
    print("]}")


def _print_table(estimates: ImportedEstimates, alpha: float, correction: Correction) -> None:
    table = Table("value", "estimate", "frequency", "std_error", "low", "high", "p_value")
    shown = 0
    for row in estimates.rows():
        if row["significant"]:
            shown += 1
            shares = (f"{row[name]:.6f}" for name in ("frequency", "std_error", "low", "high"))
            estimate, p_value = f"{row['estimate']:.0f}", f"{row['p_value']:.3g}"
            table.add_row(Text(row["value"]), estimate, *shares, p_value)
    console().print(table)
    print(
        f"{estimates.n} reports; {shown} of {len(estimates.values)} candidates are significant "
        f"({correction}, alpha {alpha:g})."
    )
    if estimates.unexplained is not None:
        print(
            f"Unexplained by any candidate: {estimates.unexplained:.6f} of the reports "
            f"(standard error {estimates.unexplained_std_error:.6f})."
        )


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "import")
