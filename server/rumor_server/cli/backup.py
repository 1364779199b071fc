"""`rumor backup`: copy the database, in use or not, to a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rumor_server.cli.database import Database, SettingsFile, settings_of
from rumor_server.cli.typer_main import AsJson, fail, print_json, run
from rumor_server.clock import utc_now
from rumor_server.storage.sqlite.backup import back_up
from rumor_shared.errors import RumorError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The backup; it must not exist.")],
    database: Database = None,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Back up while collectors run. The keys of open days are left out.

    A copy of the database file alone is no backup: the newest commits are in the file beside it.
    """
    try:
        settings = settings_of("backup", database, settings_file)
        if settings.database_url:
            from rumor_server.storage.postgres.backup import back_up_postgres

            back_up_postgres(settings.database_url, file)
            if as_json:
                print_json({"file": file})
            else:
                print(f"{file}: a backup of the PostgreSQL database, without keys of open days")
            return
        made = back_up(settings.database, file, utc_now())
    except (RumorError, OSError) as error:
        raise fail("backup", error) from None
    if as_json:
        print_json({"file": file, **asdict(made)})
        return
    print(f"{file}: {made.reports} reports, checked; days are closed through {made.closed_through}")


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "backup")
