"""Run the collector's application on a socket until it is told to stop."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from rumor_server.access import check_contradictions
from rumor_server.app import create_app
from rumor_server.clock import system_day
from rumor_server.errors import CantListen
from rumor_server.http.connections import Bounds, bounded_connections
from rumor_server.operations import logs
from rumor_server.settings import Settings, foreign_variables, service_variables
from rumor_server.storage.open_store import open_store
from rumor_shared.errors import RumorError
from rumor_shared.registry import Registry, load_registry

try:
    import resource
except ImportError:  # Windows has no limit of this kind
    resource = None  # type: ignore[assignment] # what mypy would need is another platform

STOP = (signal.SIGINT, signal.SIGTERM)
# How many connections may wait to be accepted: uvicorn's own figure.
_BACKLOG = 2048
# asyncio accepts as many at a time as may wait, before the first of them can be refused. A tick's
# worth is enough, and leaves descriptors for the database.
_ACCEPTS = 64
# However many descriptors there are: what each connection holds adds up to some 300 MB here.
MAX_CONNECTIONS = 16_384
# Beside connections: the database's files or connections, receipts, candidate lists, worker pipes.
_OWN_DESCRIPTORS = 64
# New objects before garbage is looked for: some megabytes at most.
_GARBAGE = 20_000
# A stop waits for requests and then for the writer, `drain_seconds` each; whatever still runs then
# (a thread in a call that doesn't return) is left behind.
_LAST_SECONDS = 5

log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn, which says where it listens once it does, and ends as it was asked to: with 0.

    `reload` is what a hang-up asks for (SIGHUP); without it, that is to stop.
    """

    reload: Callable[[], None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on the signals that ask for it."""
        # uvicorn's own raises the signal again after a clean stop, which then looks like a crash.
        handlers: dict[int, Callable[[int, FrameType | None], None]]
        handlers = dict.fromkeys(STOP, self.handle_exit)
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = self._hang_up
        before = {one: signal.signal(one, handler) for one, handler in handlers.items()}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _hang_up(self, number: int, frame: FrameType | None) -> None:
        if self.reload is None:
            self.handle_exit(number, frame)
        else:
            self.reload()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say where."""
        await super().startup(sockets)
        if self.started and sockets:
            for one in sockets:
                one.listen(_BACKLOG)
            host, port = sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            # Nobody may be there to read it any more.
            with suppress(OSError, ValueError, AttributeError):
                print(f"Rumor collects at http://{shown}:{port}", flush=True)  # noqa: T201 - the one line that tells a free port

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop within a stated time, whatever clients and threads do."""
        drain = self.config.timeout_graceful_shutdown or 0
        watchdog = threading.Timer(2 * drain + _LAST_SECONDS, _leave)
        watchdog.daemon = True
        watchdog.start()
        await super().shutdown(sockets)


def _leave() -> None:
    log.error("the stop took too long; what still ran is left behind")
    logging.shutdown()
    # What was acknowledged is on the disk.
    os._exit(1)


def run(settings: Settings, reread: Callable[[], Settings] | None = None) -> bool:
    """Serve until SIGTERM or Ctrl-C; return whether it ever started.

    `reread` looks the settings up again: on SIGHUP their log level counts. Raises RumorError and
    OSError for what keeps it from starting. No file is made before the registry, who may do what
    and the socket are known to be good.
    """
    logs.set_up(settings.log_level, settings.log_format)
    _warn_of_variables(os.environ)
    registry = load_registry(settings.registry)
    check_contradictions(settings)
    with listen(settings.host, settings.port) as listening:
        return _serve(registry, settings, listening, reread)


def _warn_of_variables(environment: Mapping[str, str]) -> None:
    for name in foreign_variables(environment):
        log.warning("%s is not a variable of Rumor; see `rumor settings`", name)
    for name in service_variables(environment):
        log.warning(
            "%s is what Kubernetes sets for a Service of this name, and is passed over; name the "
            "Service otherwise, or set enableServiceLinks: false",
            name,
        )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that of two collectors one knows at once that it can't.

    Whoever calls before the start is over waits for its end. Raises CantListen.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its protocol asyncio knows that it is TCP, and sends small answers at once (TCP_NODELAY):
    # without that a kept connection gets 21 answers a second.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise CantListen(host, port, error) from None
    return listening


def server_for(app: ASGIApp, settings: Settings, *, lifespan: bool = True) -> Server:
    """Return the server of an application, with every bound of `settings`."""
    drain = max(1, round(settings.drain_seconds))
    connections, accepts = connection_limits()
    bounds = Bounds(
        header_seconds=settings.header_seconds,
        write_seconds=settings.write_seconds,
        drain_seconds=drain,
        connections=connections,
    )
    config = uvicorn.Config(
        app,
        http=bounded_connections(bounds),
        # Chosen, not found: what else is installed changes neither speed nor meaning.
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        # Only `ip_rate_limit` reads forwarded headers, and only from proxies that were named.
        proxy_headers=False,
        ws="none",
        lifespan="on" if lifespan else "off",
        backlog=accepts,
        timeout_keep_alive=round(settings.idle_seconds),
        timeout_graceful_shutdown=drain,
    )
    return Server(config)


def connection_limits() -> tuple[int, int]:
    """Return how many connections there may be, and how many of them are accepted at a time.

    So many that descriptors never run out: accepting would fail thousands of times a second, and
    with it the database. The soft limit is raised to the hard one first.
    """
    left = max(4, _descriptors() - _open_descriptors())
    accepts = min(_ACCEPTS, left // 4)
    own = min(_OWN_DESCRIPTORS, left // 4)
    return min(MAX_CONNECTIONS, left - accepts - own), accepts


def _descriptors() -> int:
    """Return how many descriptors the process may have, after asking for enough."""
    wanted = 2 * MAX_CONNECTIONS
    if resource is None:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    more = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if more > soft:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            return more
    return soft


def _open_descriptors() -> int:
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        return _OWN_DESCRIPTORS


def _set_level(reread: Callable[[], Settings]) -> None:
    """Take over the log level that the settings have by now."""
    try:
        level = reread().log_level
    except (RumorError, OSError) as error:
        log.error("the settings can't be read again, and nothing changes: %s", error)  # noqa: TRY400 - no fault of ours
        return
    logging.getLogger().setLevel(level.upper())
    # Not for its gravity, but so that it is told at nearly any level.
    log.error("the log level is %s", level)


def _serve(
    registry: Registry,
    settings: Settings,
    listening: socket.socket,
    reread: Callable[[], Settings] | None,
) -> bool:
    log.info("the database is %s", settings.database_name)
    for problem in (*registry.expired(system_day()), *registry.warnings()):
        log.warning("%s", problem)
    server = server_for(create_app(registry, open_store(settings), settings), settings)
    if reread is not None:
        server.reload = partial(_set_level, reread)
    # What was imported stays for good: looking through it again and again for garbage costs an
    # eighth of a single report. What a request makes dies with it, but for a moment hundreds wait
    # together: looking when 700 objects are new, as Python does, costs another fiftieth.
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    # uvicorn leaves with 3 where the start fails, which is said in the log.
    with suppress(SystemExit):
        server.run(sockets=[listening])
    return server.started
