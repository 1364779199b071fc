"""`rumor init`: a registry, an app and a crowd to begin with."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from rumor_server.cli.starter import (
    SETTINGS,
    check_absent,
    deploy_files,
    starter_files,
    write_starter,
)
from rumor_server.cli.typer_main import AsJson, fail, print_json, run
from rumor_server.clock import system_day
from rumor_server.settings import DATABASE
from rumor_shared.errors import RumorError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to write into.")] = Path(),
    url: Annotated[
        str, typer.Option(envvar="RUMOR_URL", help="Where the collector will listen.")
    ] = "http://localhost:8000",
    keys: Annotated[
        bool, typer.Option("--keys", help="Make an ingest and an analyst key, and ask for them.")
    ] = False,
    deploy: Annotated[
        bool,
        typer.Option("--deploy", help="Write samples for systemd, containers, Prometheus instead."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a starter registry, an app and a crowd of devices to try them with.

    Overwrites nothing. With --keys the collector's database is made too, and the settings that ask
    for keys; the keys are shown once. With --deploy nothing but samples for operators is written.
    """
    if deploy:
        _write_samples(folder, as_json=as_json)
        return
    try:
        made: dict[str, str] = {}
        texts = starter_files(system_day(), url)
        if keys:
            check_absent(folder, (*texts, SETTINGS, DATABASE.name))
            made = _make_keys(folder)
            texts = starter_files(system_day(), url, made["ingest"])
        write_starter(folder, texts)
    except (RumorError, OSError) as error:
        raise fail("init", error) from None
    if as_json:
        print_json({"wrote": [folder / name for name in texts], "keys": made})
        return
    for name in texts:
        print(f"wrote {folder / name}")
    for scope, key in made.items():
        print(f"{scope} key, not shown again: {key}")
    settings = f" --settings {SETTINGS}" if keys else ""
    print(f"Next: rumor serve{settings}, then in another terminal: python crowd.py")


def _write_samples(folder: Path, *, as_json: bool) -> None:
    try:
        texts = deploy_files()
        write_starter(folder, texts)
    except (RumorError, OSError) as error:
        raise fail("init", error) from None
    if as_json:
        print_json({"wrote": [folder / name for name in texts], "keys": {}})
        return
    for name in texts:
        print(f"wrote {folder / name}")


def _make_keys(folder: Path) -> dict[str, str]:
    from rumor_server.access import Scope
    from rumor_server.operations.keyring import create_key
    from rumor_server.settings import Settings
    from rumor_server.storage.operator_tables import Control  # most people begin without keys
    from rumor_server.storage.sqlite.store import SqliteStore

    folder.mkdir(parents=True, exist_ok=True)
    database = folder / DATABASE.name
    with closing(SqliteStore(database, busy_seconds=5)):
        pass
    control = Control(Settings(database=database))
    try:
        return {
            "ingest": create_key(control, "app", Scope.INGEST, system_day()),
            "analyst": create_key(control, "analyst", Scope.ANALYST, system_day()),
        }
    finally:
        control.close()


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "init")
