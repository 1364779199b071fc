"""What `rumor` alone prints: every command, with the first clause of its module's docstring.

A module is found as an import would find it and its source read, but nothing is imported: it might
take seconds, or lack an extra.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint

# A docstring begins with the command as it is typed: "`rumor serve`: run a collector until ...".
_FIRST_LINE = re.compile(r'\s*[rR]?"""(?:`rumor [^`]*`: )?(.*?)(?:"""|\n|\Z)')
_CLAUSE_END = re.compile(r"[.;:](?:\s|$)")
_WIDTH = 80


def overview(commands: Mapping[str, EntryPoint]) -> str:
    """Return the list of commands; one whose source can't be read has no words."""
    column = 2 + max(map(len, commands), default=0) + 2
    lines = ["usage: rumor [--version] [--help] [--completion SHELL] COMMAND ...", "", "commands:"]
    for name, entry in sorted(commands.items()):
        first, *more = textwrap.wrap(about(entry.module), _WIDTH - column) or [""]
        lines.append(f"{f'  {name}':{column}}{first}".rstrip())
        lines += [" " * column + line for line in more]
    lines += ["", "`rumor COMMAND --help` explains one."]
    return "\n".join(lines)


def about(module: str) -> str:
    """Return the first clause of a module's docstring, without the command's name before it."""
    found = _FIRST_LINE.match(_source(module))
    said = _CLAUSE_END.split(found[1].strip())[0] if found else ""
    return said[:1].upper() + said[1:]


def _source(module: str) -> str:
    places = None
    spec = None
    for part in module.split("."):
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return ""
        places = spec.submodule_search_locations
    if spec is None or spec.origin is None:
        return ""
    try:
        with open(spec.origin, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs its import
            return file.read(1024)
    except (OSError, UnicodeDecodeError):
        return ""
