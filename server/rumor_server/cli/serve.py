"""`rumor serve`: run a collector until it is told to stop."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rumor_server.cli.database import SettingsFile
from rumor_server.cli.typer_main import fail, run
from rumor_server.settings import load_settings
from rumor_shared.errors import RumorError

# Several threads of linear algebra spin while they wait for each other: a decode took 46.9 s with
# two threads on a busy machine of two cores, and 4.6 s with one.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _digits(port: str | None) -> str | None:
    """Return `port`; what is no number at all is a mistake in the line, as a wrong option is."""
    if port is not None and not (port.isascii() and port.isdigit()):
        raise typer.BadParameter("is not a number of digits 0 to 9; 0 takes a free port")
    return port


@app.command()
def serve(
    registry: Annotated[Path | None, typer.Option(help="The registry file.")] = None,
    database: Annotated[
        str | None, typer.Option(help="The SQLite file, made if absent; or postgresql://...")
    ] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[
        str | None,
        typer.Option(help="The port; 0 takes a free one.", metavar="INTEGER", callback=_digits),
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="critical to debug.")] = None,
    settings_file: SettingsFile = None,
) -> None:
    """Take in reports and answer with estimates, until SIGTERM or Ctrl-C.

    With a settings file SIGHUP reads its log_level again; without one it stops too.

    What is not given comes from the environment (RUMOR_REGISTRY, ...), then the settings file; see
    `rumor settings`.
    """
    options = {
        "registry": registry,
        "database": database,
        "host": host,
        "port": port,
        "log_level": log_level,
    }
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    # After that, because numpy reads it once, as it is imported.
    from rumor_server import serving

    try:
        look_up = partial(load_settings, options, file=settings_file)
        # Only a file can say something else by then.
        started = serving.run(look_up(), None if settings_file is None else look_up)
    except (RumorError, OSError) as error:
        raise fail("serve", error) from None
    if not started:
        raise fail("serve", "it did not start; the log above says why")


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "serve")
