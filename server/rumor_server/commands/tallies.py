"""`rumor tallies`: take tallies from one collector to another, where they are added."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from rumor_server.commands.typer_main import AsJson, fail, print_json, run
from rumor_server.settings import DATABASE
from rumor_server.storage.sqlite_exchange import export_tallies, merge_tallies
from rumor_server.storage.sqlite_store import SqliteStore
from rumor_server.storage.tally_file import DayTally, read_tallies, write_tallies
from rumor_shared.errors import RumorError
from rumor_shared.registry import load_registry

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

# A commit of the collector that runs beside us takes far less.
_BUSY_SECONDS = 30.0

Database = Annotated[Path, typer.Option(help="The SQLite file of the collector.")]


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="The file to write, such as tallies.npz.")],
    database: Database = DATABASE,
    metric: Annotated[
        list[str] | None, typer.Option(help="A metric to export; all if none is given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the tallies of all closed days to a file. Days that still take reports stay behind."""
    try:
        tallies, last = export_tallies(database, _BUSY_SECONDS, metric or ())
        if not tallies:
            raise fail("tallies", f"{database}: has no report of a closed day; nothing was written")
        write_tallies(file, tallies)
    except (RumorError, OSError) as error:
        raise fail("tallies", str(error)) from None
    if as_json:
        print_json({"file": file, **_counted(tallies), "last_day": last})
        return
    print(f"{file}: {_total(tallies)}, of days up to {last}")


@app.command()
def merge(
    files: Annotated[list[Path], typer.Argument(help="Files that `rumor tallies export` wrote.")],
    database: Database = DATABASE,
    registry: Annotated[
        Path | None, typer.Option(help="A registry that declares metrics this database lacks.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add the tallies of files to a database, each file whole or not at all, and never twice."""
    added = []
    try:
        if registry is not None:
            declared = load_registry(registry)
            with closing(SqliteStore(database, busy_seconds=_BUSY_SECONDS)) as store:
                store.adopt(declared)
        for file in files:
            tallies = read_tallies(file)
            merge_tallies(database, _BUSY_SECONDS, tallies)
            added.append({"file": file, **_counted(tallies)})
            if not as_json:
                print(f"{file}: added {_total(tallies)}")
    except (RumorError, OSError) as error:
        raise fail("tallies", str(error)) from None
    finally:
        # Those before the one that fails were added, and are told all the same.
        if as_json:
            print_json({"added": added})


def _counted(tallies: list[DayTally]) -> dict[str, int]:
    return {"reports": sum(entry.tally.n for entry in tallies), "tallies": len(tallies)}


def _total(tallies: list[DayTally]) -> str:
    counted = _counted(tallies)
    return f"{counted['reports']} reports in {counted['tallies']} tallies"


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "tallies")
