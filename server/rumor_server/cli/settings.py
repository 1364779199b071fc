"""`rumor settings`: print every setting, its value here, its default and what it means."""

from __future__ import annotations

from typing import Annotated

import typer

from rumor_server.cli.database import SettingsFile
from rumor_server.cli.typer_main import AsJson, fail, print_json, run
from rumor_server.errors import SettingsError
from rumor_server.operations.settings_page import settings_page
from rumor_server.settings import load_settings, shown

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def settings(
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the page of the documentation.")
    ] = False,
) -> None:
    """Print the settings that `rumor serve` would run with; a secret is not shown."""
    if as_markdown:
        print(settings_page(), end="")
        return
    try:
        found = shown(load_settings({}, file=settings_file))
    except (SettingsError, OSError) as error:
        raise fail("settings", error) from None
    if as_json:
        print_json({one.name: one._asdict() for one in found})
        return
    width = max(len(one.name) for one in found)
    for one in found:
        changed = "" if one.value == one.default else f"  (default {one.default or 'none'})"
        print(f"{one.name:{width}}  {one.value or '-'}{changed}")
        print(f"{'':{width}}  {one.meaning}; {one.variable}")


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "settings")
