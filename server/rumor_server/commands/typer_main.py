"""Run a Typer application for the console script: words in, exit code out."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

EXIT_WRONG = 1

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def run(app: typer.Typer, argv: list[str], name: str) -> int:
    """Run `rumor NAME` and return its exit code: 2 for a wrong call, as click has it."""
    try:
        app(args=argv, prog_name=f"rumor {name}")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_WRONG if stop.code else 0
    return 0


def print_json(document: dict[str, Any]) -> None:
    """Print one object in ASCII, which any console shows; days become YYYY-MM-DD, paths text."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False, default=str))


def fail(name: str, message: str) -> typer.Exit:
    """Print what is wrong to standard error, and return the exit to raise."""
    typer.echo(f"rumor {name}: {message}", err=True)
    return typer.Exit(EXIT_WRONG)
