"""Run the collector's application on a socket until it is told to stop."""

from __future__ import annotations

import gc
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn

from rumor_server.app import create_app
from rumor_server.clock import system_day
from rumor_server.errors import CantListen
from rumor_server.http.slow_sockets import cutting_protocol
from rumor_server.operations import logs
from rumor_server.settings import Settings, open_scopes, parse_proxies
from rumor_server.storage.open_store import open_store
from rumor_shared.registry import Registry, load_registry

STOP = (signal.SIGINT, signal.SIGTERM)
# How many connections may wait to be accepted: uvicorn's own figure.
_BACKLOG = 2048
# New objects before garbage is looked for: some megabytes at most.
_GARBAGE = 20_000

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

    Raises RumorError and OSError for what keeps it from starting. No file is made before the
    registry, who may do what and the socket are known to be good.
    """
    logs.set_up(settings.log_level, settings.log_format)
    registry = load_registry(settings.registry)
    open_scopes(settings)
    parse_proxies(settings.trusted_proxies)
    with _listen(settings.host, settings.port) as listening:
        return _serve(registry, settings, listening)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that of two collectors one knows at once that it can't.

    Whoever calls before the start is over waits for its end. Raises CantListen.
    """
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise CantListen(host, port, error) from None
    return listening


def _serve(registry: Registry, settings: Settings, listening: socket.socket) -> bool:
    log.info("the database is %s", settings.database_name)
    for problem in (*registry.expired(system_day()), *registry.warnings()):
        log.warning("%s", problem)
    config = uvicorn.Config(
        create_app(registry, open_store(settings), settings),
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
    # eighth of a single report. What a request makes dies with it, but for a moment hundreds wait
    # together: looking when 700 objects are new, as Python does, costs another fiftieth.
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    server = _Server(config)
    # uvicorn leaves with 3 where the start fails, which is said in the log.
    with suppress(SystemExit):
        server.run(sockets=[listening])
    return server.started
