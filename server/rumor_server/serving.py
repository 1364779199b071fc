"""Run the collector's application on a socket until it is told to stop."""

from __future__ import annotations

import gc
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from rumor_server.app import create_app
from rumor_server.clock import system_day
from rumor_server.ingestion.slow_sockets import cutting_protocol
from rumor_server.operating import logs
from rumor_server.settings import Settings
from rumor_server.storage.open_store import open_store
from rumor_shared.registry import load_registry

STOP = (signal.SIGINT, signal.SIGTERM)

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
            print(f"Rumor collects at http://{shown}:{port}", flush=True)  # noqa: T201 - the one line that tells a free port


def run(settings: Settings) -> bool:
    """Serve until SIGTERM or Ctrl-C; return whether it ever started.

    Raises RumorError and OSError for what keeps it from starting.
    """
    logs.set_up(settings.log_level, settings.log_format)
    registry = load_registry(settings.registry)
    for problem in (*registry.expired(system_day()), *registry.warnings()):
        log.warning("%s", problem)
    config = uvicorn.Config(
        create_app(registry, open_store(settings), settings),
        host=settings.host,
        port=settings.port,
        http=cutting_protocol(settings.header_seconds),
        log_config=None,
        access_log=False,
        server_header=False,
        # Only `addresses` reads forwarded headers, and only from proxies that were named.
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=max(1, round(settings.drain_seconds)),
    )
    # What was imported stays for good: looking through it again and again for garbage costs an
    # eighth of a single report.
    gc.freeze()
    server = _Server(config)
    with config.bind_socket() as listening:
        server.run(sockets=[listening])
    return server.started
