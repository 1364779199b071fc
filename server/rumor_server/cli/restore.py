"""`rumor restore`: put a backup in the place of the database."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rumor_server.cli.database import Database, SettingsFile, say_database
from rumor_server.cli.typer_main import AsJson, fail, print_json, run
from rumor_server.clock import system_day, utc_now
from rumor_server.settings import load_settings
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.sqlite.backup import Restored, restore
from rumor_server.storage.sqlite.file import check_made, check_place
from rumor_shared.errors import RumorError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("restore")
def restore_(
    file: Annotated[Path, typer.Argument(help="A file that `rumor backup` made.")],
    database: Database = None,
    reopen: Annotated[
        bool,
        typer.Option("--reopen", help="Take reports of days that the backup had open."),
    ] = False,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup; the database that was there is moved aside, not deleted.

    Stop every collector first. Without --reopen, days up to today are closed: reports are taken
    again from tomorrow on.
    """
    try:
        settings = load_settings({"database": database}, file=settings_file)
        if not settings.database_url:
            check_made(file)
            check_place(settings.database)
        say_database("restore", settings)
        if settings.database_url:
            from rumor_server.storage.postgres.backup import restore_postgres

            done = restore_postgres(settings, file, system_day(), reopen=reopen)
        else:
            receipts = Receipts(settings.receipts_folder)
            done = restore(file, settings.database, receipts, system_day(), reopen=reopen)
    except (RumorError, OSError) as error:
        raise fail("restore", error) from None
    if as_json:
        print_json(asdict(done))
        return
    for line in _lines(done):
        print(line)


def _lines(done: Restored) -> list[str]:
    gap = utc_now() - done.backup.taken
    lost = "an unknown number of" if done.lost is None else str(done.lost)
    lines = [
        f"restored {done.backup.reports} reports of {done.backup.taken:%Y-%m-%d %H:%M:%S} UTC",
        f"lost: what came in the {gap} since then, {lost} reports",
        f"retractions done again from their receipts: {done.replayed}",
        f"keys revoked again: {done.revoked}",
        _open_days(done.open_days),
    ]
    if not done.verified:
        lines.append("no checksum is beside the backup: only its pages and tallies were checked")
    if done.before is not None:
        lines.append(f"the database before is {done.before}; delete it once all is well")
    else:
        lines.append("no database was there before: revoke again what was revoked since the backup")
    return lines


def _open_days(is_open: bool) -> str:
    if is_open:
        return (
            "open days are open again: devices may spend their budgets of these days once more, "
            "and what was counted since the backup is not known as a duplicate"
        )
    return "days up to today are closed; reports are taken from tomorrow on (see --reopen)"


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "restore")
