"""`rumor settings`: print every setting, its value here, its default and what it means.

Or all of them as the page of the documentation, made from their table.
"""

from __future__ import annotations

from typing import Annotated

import typer

from rumor_server.cli.database import SettingsFile
from rumor_server.cli.typer_main import AsJson, fail, print_json, run
from rumor_server.errors import SettingsError
from rumor_server.settings import Settings, load_settings, shown, table

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


_HEAD = """# Settings

Made by `rumor settings --markdown` from the table in `rumor_server/settings.py`; a test compares
them.

A setting is given to a command in one of four ways. The first that is there counts:

1. an option of the command, where it has one (`--port 8000`);
2. the environment: the variable below (`RUMOR_PORT=8000`);
3. a TOML file, under the setting's name (`port = 8000`): the one of `--settings`, else of the
   variable `RUMOR_SETTINGS`, else `./rumor.toml`;
4. the default.

`rumor settings` prints what holds here. The value of `database_url` is never printed.

| setting | variable | default | range or choices | meaning |
|---|---|---|---|---|
"""


def settings_page() -> str:
    """Return the page in Markdown."""
    known = table()
    lines = []
    for one in shown(Settings()):
        about = known[one.name][1]
        if about.choices:
            bounds = ", ".join(f"`{choice}`" for choice in about.choices if choice)
        elif about.low is None or about.high is None:
            bounds = ""
        else:
            bounds = f"{about.low:g} to {about.high:.15g}"
        default = f"`{one.default}`" if one.default else ""
        lines.append(f"| `{one.name}` | `{one.variable}` | {default} | {bounds} | {one.meaning} |")
    return _HEAD + "\n".join(lines) + "\n"
