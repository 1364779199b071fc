"""Run a Typer application for the console script: words in, exit code out."""

from __future__ import annotations

import io
import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from rumor_shared.os_errors import explain

EXIT_WRONG = 1
_PIPED_WIDTH = 200

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def run(app: typer.Typer, argv: list[str], name: str) -> int:
    """Run `rumor NAME` and return its exit code: 2 for a wrong call, as click has it."""
    try:
        app(args=argv, prog_name=f"rumor {name}")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_WRONG if stop.code else 0
    return 0


def console() -> Console:
    """Return a console that prints any value, also where the terminal has no sign for it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # Piped, a line is as long as it has to be.
    return Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)


def print_json(document: dict[str, Any]) -> None:
    """Print one object in ASCII, which any console shows; days become YYYY-MM-DD, paths text."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False, default=str))


def fail(name: str, why: str | Exception) -> typer.Exit:
    """Print what is wrong to standard error, and return the exit to raise."""
    said = explain(why) if isinstance(why, OSError) else str(why)
    typer.echo(f"rumor {name}: {said}", err=True)
    return typer.Exit(EXIT_WRONG)
