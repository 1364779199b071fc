"""The database that a command works on: one look-up for every command, said before it is used.

The settings file is the one of `--settings`, of RUMOR_SETTINGS, or ./rumor.toml where it is. An
option wins over the environment, the environment over the file, the file over the default. What
was found is said on standard error, so that nobody works on another database unawares.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rumor_server.settings import DATABASE, Settings, load_settings
from rumor_server.storage.sqlite.file import check_made, check_place

STARTER = Path("rumor.toml")


def _found(given: Path | None) -> Path | None:
    return STARTER if given is None and STARTER.is_file() else given


Database = Annotated[str | None, typer.Option(help="The SQLite file, or a postgresql:// address.")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        envvar="RUMOR_SETTINGS",
        callback=_found,
        help=f"A TOML file of settings; ./{STARTER} where it is and none is given.",
    ),
]


def settings_of(
    command: str,
    database: str | None,
    settings_file: Path | None,
    *,
    makes: bool = False,
    **options: Any,
) -> Settings:
    """Return the settings that a command works with, and say which database that is.

    A SQLite file must be there, unless the command `makes` one and somebody named it: the default
    name, in whatever folder one happens to be, is made by `rumor serve` alone. Raises
    SettingsError, StoreError, and OSError for a settings file that can't be read.
    """
    settings = load_settings({"database": database, **options}, file=settings_file)
    if not settings.database_url:
        # The default is this very object; a name that was given is another, though it be the same.
        if makes and settings.database is not DATABASE:
            check_place(settings.database)
        else:
            check_made(settings.database)
    say_database(command, settings)
    return settings


def say_database(command: str, settings: Settings) -> None:
    """Say on standard error which database a command works on."""
    typer.echo(f"rumor {command}: database {settings.database_name}", err=True)
