"""`rumor tallies`: take tallies from one collector to another, where they are added."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from rumor_server.cli.database import Database, SettingsFile, settings_of
from rumor_server.cli.typer_main import AsJson, fail, print_json, run
from rumor_server.settings import Settings
from rumor_server.storage.open_store import open_store, open_transfer
from rumor_server.storage.tally_file import DayTally, read_tallies, write_tallies
from rumor_server.storage.tally_transfer import check_declared, export_tallies, merge_tallies
from rumor_shared.days import parse_day
from rumor_shared.errors import RumorError
from rumor_shared.registry import Registry, load_registry

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

# A commit of the collector that runs beside us takes far less, and no device waits for us.
_BUSY_SECONDS = 30.0


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="The file to write, such as tallies.npz.")],
    database: Database = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write over a file that is there.")
    ] = False,
    metric: Annotated[
        list[str] | None, typer.Option(help="A metric to export; all if none is given.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="The first day to export.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="The last day to export.")
    ] = None,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Write the tallies of closed days to a file. Days that still take reports stay behind."""
    try:
        days = _day("--from", since, date.min), _day("--to", until, date.max)
        if file.is_file() and not overwrite:
            raise fail("tallies", f"{file}: is there already; give --overwrite or another name")
        settings = _patient(settings_of("tallies", database, settings_file))
        with open_transfer(settings, reads_only=True) as transfer:
            tallies, last = export_tallies(transfer, metric or (), *days)
        if not tallies:
            wanted = (
                "no report of a closed day is here: no day is closed yet"
                if last is None
                else "no report of a closed day is among these"
            )
            raise fail("tallies", f"{wanted}; nothing was written")
        write_tallies(file, tallies)
    except (RumorError, OSError) as error:
        raise fail("tallies", error) from None
    if as_json:
        print_json({"file": file, **_counted(tallies), "last_day": last})
        return
    print(f"{file}: {_total(tallies)}, of days up to {last}")


@app.command()
def merge(
    files: Annotated[list[Path], typer.Argument(help="Files that `rumor tallies export` wrote.")],
    database: Database = None,
    registry: Annotated[
        Path | None, typer.Option(help="A registry that declares metrics this database lacks.")
    ] = None,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Add the tallies of files to a database, each file whole or not at all, and never twice."""
    added = []
    try:
        declared = None if registry is None else load_registry(registry)
        settings = _patient(settings_of("tallies", database, settings_file, makes=True))
        _check_new(settings, declared, files)
        if declared is not None:
            with closing(open_store(settings)) as store:
                store.declare(declared)
        for file in files:
            tallies = read_tallies(file)
            with open_transfer(settings, reads_only=False) as transfer:
                merge_tallies(transfer, tallies)
            added.append({"file": file, **_counted(tallies)})
            if not as_json:
                print(f"{file}: added {_total(tallies)}")
    except (RumorError, OSError) as error:
        raise fail("tallies", error) from None
    finally:
        # Those before the one that fails were added, and are told all the same.
        if as_json:
            print_json({"added": added})


def _day(option: str, text: str | None, otherwise: date) -> date:
    if text is None:
        return otherwise
    try:
        return parse_day(text)
    except ValueError:
        raise fail("tallies", f"{option}: give a day such as 2026-11-30") from None


def _check_new(settings: Settings, declared: Registry | None, files: list[Path]) -> None:
    """Raise what a merge into a new SQLite file would, before the file is made."""
    if settings.database_url or settings.database.exists():
        return
    for file in files:
        check_declared(declared, read_tallies(file))


def _patient(settings: Settings) -> Settings:
    return replace(settings, busy_seconds=max(settings.busy_seconds, _BUSY_SECONDS))


def _counted(tallies: list[DayTally]) -> dict[str, int]:
    return {"reports": sum(entry.tally.n for entry in tallies), "tallies": len(tallies)}


def _total(tallies: list[DayTally]) -> str:
    counted = _counted(tallies)
    return f"{counted['reports']} reports in {counted['tallies']} tallies"


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "tallies")
