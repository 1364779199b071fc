"""The settings as a page of the documentation, made from their table."""

from __future__ import annotations

from rumor_server.settings import Settings, shown, table

_HEAD = """# Settings

Made by `rumor settings --markdown` from the table in `rumor_server/settings.py`; a test compares
them.

A setting is given to `rumor serve` in one of four ways. The first that is there counts:

1. an option of the command, where it has one (`--port 8000`);
2. the environment: the variable below (`RUMOR_PORT=8000`);
3. a TOML file, given with `--settings`, under the setting's name (`port = 8000`);
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
