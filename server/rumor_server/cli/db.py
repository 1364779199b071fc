"""`rumor db`: the schema of the database, its version and its upgrade."""

from __future__ import annotations

from typing import Annotated

import typer

from rumor_server.cli.database import Database, SettingsFile, settings_of
from rumor_server.cli.typer_main import (
    EXIT_WRONG,
    AsJson,
    fail,
    print_json,
    run,
)
from rumor_server.errors import StoreError
from rumor_server.settings import Settings
from rumor_server.storage.open_store import require_postgres
from rumor_server.storage.sqlite import file as sqlite_file
from rumor_shared.errors import RumorError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="The schema of the database: its version, and its upgrade.",
)


@app.command()
def upgrade(
    database: Database = None,
    expand: Annotated[
        bool,
        typer.Option(
            "--expand",
            help="PostgreSQL only: stop before what nodes of the version before trip over.",
        ),
    ] = False,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Bring the database to this program's version, each step whole or not at all.

    Stop the collectors and make a backup first; or, on PostgreSQL, upgrade with --expand, replace
    the nodes one by one, and upgrade again. A database of a later version is left alone.
    """
    try:
        settings = settings_of("db upgrade", database, settings_file, makes=True)
        before, after = _upgrade(settings, expand=expand)
    except (RumorError, OSError) as error:
        raise fail("db upgrade", error) from None
    if as_json:
        print_json({"before": before, "after": after})
        return
    typer.echo(f"version {after}" if before == after else f"upgraded from {before} to {after}")


@app.command()
def status(
    database: Database = None,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Print the version of the database and of this program; exit with 1 where they differ."""
    try:
        settings = settings_of("db status", database, settings_file, makes=True)
        found, known = _versions(settings)
    except (RumorError, OSError) as error:
        raise fail("db status", error) from None
    if as_json:
        print_json({"database": found, "program": known, "up_to_date": found == known})
    else:
        advice = "up to date" if found == known else "run `rumor db upgrade`"
        typer.echo(f"database {found}, program {known}: {advice}")
    if found != known:
        raise typer.Exit(EXIT_WRONG)


def _upgrade(settings: Settings, *, expand: bool) -> tuple[int, int]:
    if not settings.database_url:
        if expand:
            raise StoreError(
                "--expand: a SQLite file is served by one machine; stop its collector, "
                "then upgrade without it"
            )
        return sqlite_file.upgrade(settings.database, settings.busy_seconds)
    require_postgres()
    from rumor_server.storage.postgres import connection as postgres_connection

    return postgres_connection.upgrade(settings.database_url, settings.busy_seconds, expand=expand)


def _versions(settings: Settings) -> tuple[int, int]:
    if not settings.database_url:
        return sqlite_file.version(settings.database), len(sqlite_file.STEPS)
    require_postgres()
    from rumor_server.storage.postgres import connection as postgres_connection

    with postgres_connection.connect(settings.database_url, settings.busy_seconds) as connection:
        return postgres_connection.version(connection), len(postgres_connection.STEPS)


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "db")
