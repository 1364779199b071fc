"""`rumor serve`: run a collector until it is told to stop."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from rumor_server.app import create_app, system_day
from rumor_server.commands.typer_main import EXIT_WRONG, fail, run
from rumor_server.settings import Settings, load_settings
from rumor_server.sqlite_store import SqliteStore
from rumor_shared.errors import RumorError
from rumor_shared.registry import load_registry

STOP = (signal.SIGINT, signal.SIGTERM)

app = typer.Typer(add_completion=False, rich_markup_mode=None)
log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """uvicorn, which says where it listens once it does, and ends as it was asked to: with 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn's own raises the signal again after a clean stop, which then looks like a crash.
        before = {one: signal.signal(one, self.handle_exit) for one in STOP}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"Rumor collects at http://{shown}:{port}", flush=True)


@app.command()
def serve(
    registry: Annotated[Path | None, typer.Option(help="The registry file.")] = None,
    database: Annotated[Path | None, typer.Option(help="The SQLite file; made if absent.")] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes a free one.")] = None,
    log_level: Annotated[str | None, typer.Option(help="critical to debug.")] = None,
    settings_file: Annotated[
        Path | None, typer.Option("--settings", help="A TOML file of settings.")
    ] = None,
) -> None:
    """Take in reports and answer with estimates, until SIGTERM or Ctrl-C.

    What is not given comes from the environment (RUMOR_REGISTRY, ...), then the settings file.
    """
    options = {
        "registry": registry,
        "database": database,
        "host": host,
        "port": port,
        "log_level": log_level,
    }
    try:
        settings = load_settings(options, file=settings_file)
        _serve(settings)
    except (RumorError, OSError) as error:
        raise fail("serve", str(error)) from None


def _serve(settings: Settings) -> None:
    # Standard error, for whatever collects a service's output; no address and no payload is in any
    # record.
    logging.basicConfig(
        level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    registry = load_registry(settings.registry)
    for problem in (*registry.expired(system_day()), *registry.warnings()):
        log.warning("%s", problem)
    store = SqliteStore(settings.database, busy_seconds=settings.busy_seconds)
    config = uvicorn.Config(
        create_app(registry, store, settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=max(1, round(settings.drain_seconds)),
    )
    server = _Server(config)
    with config.bind_socket() as listening:
        server.run(sockets=[listening])
    if not server.started:
        raise typer.Exit(EXIT_WRONG)


def main(argv: list[str]) -> int:
    """Run the command with the words after its name."""
    return run(app, argv, "serve")
