"""Run a Typer application for the console script: words in, exit code out."""

from __future__ import annotations

import typer

EXIT_WRONG = 1


def run(app: typer.Typer, argv: list[str], name: str) -> int:
    """Run `rumor NAME` and return its exit code: 2 for a wrong call, as click has it."""
    try:
        app(args=argv, prog_name=f"rumor {name}")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_WRONG if stop.code else 0
    return 0


def fail(name: str, message: str) -> typer.Exit:
    """Print what is wrong to standard error, and return the exit to raise."""
    typer.echo(f"rumor {name}: {message}", err=True)
    return typer.Exit(EXIT_WRONG)
