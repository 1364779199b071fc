"""`rumor keys`: make, list and revoke the keys of a collector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

import typer

from rumor_server.access import Scope
from rumor_server.cli.database import Database, SettingsFile, settings_of
from rumor_server.cli.typer_main import AsJson, fail, print_json, run
from rumor_server.clock import system_day
from rumor_server.errors import KeyProblem
from rumor_server.operations.keyring import check_key, create_key, revoke_key
from rumor_server.storage.keys import Key, list_keys
from rumor_server.storage.open_store import open_store
from rumor_server.storage.operator_tables import Control
from rumor_shared.errors import RumorError

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for, as people know it.")],
    scope: Annotated[Scope, typer.Option(help="What it may do.")],
    expires: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="The last valid UTC day.")
    ] = None,
    minute_requests: Annotated[int, typer.Option(help="Requests a minute; 0 is no limit.")] = 0,
    day_reports: Annotated[int, typer.Option(help="Accepted reports a day; 0 is no limit.")] = 0,
    database: Database = None,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it, once: only a hash of it is kept."""
    last_day = expires.date() if expires else None
    try:
        # Before the database, which may have to be made.
        check_key(
            name,
            system_day(),
            expires=last_day,
            minute_requests=minute_requests,
            day_reports=day_reports,
        )
    except KeyProblem as error:
        raise fail("keys", error) from None
    with _control(database, settings_file, makes=True) as control:
        key = create_key(
            control,
            name,
            scope,
            system_day(),
            expires=last_day,
            minute_requests=minute_requests,
            day_reports=day_reports,
        )
    print_json({"name": name, "scope": scope, "key": key}) if as_json else print(key)


@app.command("list")
def list_(
    database: Database = None,
    settings_file: SettingsFile = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON list and nothing else.")
    ] = False,
) -> None:
    """Print every key that was ever made: its state and limits, not the key."""
    with _control(database, settings_file) as control:
        found = list_keys(control)
    rows = [_row(key, system_day()) for key in found]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    lines = [list(_HEAD), *([str(cell) for cell in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(map(str.ljust, line, widths)).rstrip())


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(help="The key's name or id.")],
    database: Database = None,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a key for good; collectors refuse it within `refresh_seconds`."""
    with _control(database, settings_file) as control:
        revoked = revoke_key(control, key, system_day())
    if as_json:
        print_json({"name": revoked.name, "id": revoked.id, "revoked": revoked.revoked})
        return
    print(f"revoked {revoked.name} ({revoked.id})")


_HEAD = (
    "name", "id", "scope", "state", "created", "expires", "last used", "requests/min", "reports/day"
)  # fmt: skip


def _row(key: Key, today: date) -> dict[str, str | int]:
    state = "revoked" if key.revoked else "valid" if key.valid(today) else "expired"
    cells = (
        key.name,
        key.id,
        key.scope.value,
        state,
        key.created.isoformat(),
        key.expires.isoformat() if key.expires else "never",
        key.last_used.isoformat() if key.last_used else "never",
        key.minute_requests or "no limit",
        key.day_reports or "no limit",
    )
    return dict(zip(_HEAD, cells, strict=True))


@contextmanager
def _control(
    database: str | None, settings_file: Path | None, *, makes: bool = False
) -> Iterator[Control]:
    """Open the operator's tables; only what `makes` keys may make a database too."""
    try:
        settings = settings_of("keys", database, settings_file, makes=makes)
        # The store first: it makes the database, or knows one that isn't ours.
        with closing(open_store(settings)), closing(Control(settings)) as control:
            yield control
    except (RumorError, OSError) as error:
        raise fail("keys", error) from None


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "keys")
