"""`rumor doctor`: look the collector over, and say what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from rumor_server.cli.database import Database, SettingsFile, say_database
from rumor_server.cli.typer_main import EXIT_WRONG, fail, run
from rumor_server.clock import system_day
from rumor_server.operations.doctor import Level, run_checks
from rumor_server.operations.room_checks import check_rooms
from rumor_server.settings import load_settings
from rumor_server.storage.sqlite.file import check_place
from rumor_shared.errors import RumorError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def doctor(
    registry: Annotated[Path | None, typer.Option(help="The registry file.")] = None,
    database: Database = None,
    settings_file: SettingsFile = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON list and nothing else.")
    ] = False,
) -> None:
    """Check database, disk, clock, retention, keys, registry and workers; 1 if one is wrong.

    The installed client is audited in short: it takes some seconds.
    """
    try:
        settings = load_settings({"registry": registry, "database": database}, file=settings_file)
        if not settings.database_url:
            check_place(settings.database)
        say_database("doctor", settings)
    except (RumorError, OSError) as error:
        raise fail("doctor", error) from None
    found = [*run_checks(settings, system_day()), *check_rooms()]
    if as_json:
        rows = [{"level": f.level.value, "about": f.about, "detail": f.detail} for f in found]
        print(json.dumps(rows, indent=2))
    else:
        for one in found:
            print(f"{one.level.value:7}  {one.about:9}  {one.detail}")
    if any(one.level is Level.WRONG for one in found):
        raise typer.Exit(EXIT_WRONG)


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "doctor")
