"""What a durable answer over HTTP costs, on `rumor serve` itself.

Beside it run a bare ASGI echo and an echo that durably inserts the same rows, both on the same
sockets, loop and parser (httptools). A request is one report of some 250 bytes as our client sends
it. Kept connections are what a proxy has; fresh ones are what devices bring.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.load import Load, post
from benchmarks.measures.ingestion import REGISTRY, body
from benchmarks.row import Row, interleaved
from benchmarks.serving import Running, collector, cpu_seconds, echo, nginx
from rumor_shared.wire import REPORTS_PATH

_ROUNDS = 5
_MANY = 64
_REQUESTS = {1: 600, _MANY: 4000}
_ECHO, _INSERT = "ASGI echo, same server", "echo and a durable insert of the same rows"
# The least share of the peer's rate that we are content with, as a ratio of times.
_AIMS = {1: 1 / 0.8, _MANY: 1 / 0.45}
_PROXY_AIMS = {1: 1 / 0.8, _MANY: 1 / 0.55}
# What deciding, hashing, counting and queueing may cost of a server's CPU, in microseconds.
_CPU_AIM = 80.0


def measure() -> list[Row]:
    """Post single reports over kept and fresh connections and through nginx; medians."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rumor-bench-")))
        ours = stack.enter_context(collector(folder, REGISTRY))
        bare = stack.enter_context(echo())
        inserting = stack.enter_context(echo(folder / "floor.sqlite"))
        rows = [
            *_kept(_MANY, ours, bare, inserting),
            *_kept(1, ours, bare, inserting),
            _fresh(ours, inserting),
        ]
        try:
            proxies = [
                stack.enter_context(nginx(_made(folder / f"nginx{number}"), one))
                for number, one in enumerate((ours, inserting))
            ]
        except FileNotFoundError:
            return rows
        return [*rows, *(_through(proxies[0], proxies[1], number) for number in (_MANY, 1))]


def _kept(connections: int, ours: Running, bare: Running, inserting: Running) -> list[Row]:
    ran = _by_turns([ours, bare, inserting], connections)
    wall = [median(load.microseconds for load, _ in runs) for runs in ran]
    cpu = [median(used for _, used in runs) for runs in ran]
    own = max(load.own_microseconds for runs in ran for load, _ in runs)
    name = f"POST a report, {connections} kept"
    rows = [
        Row(f"{name}, beside an echo", wall[0], "us", _ECHO, wall[1]),
        Row(name, wall[0], "us", _INSERT, wall[2], _AIMS[connections]),
        Row(f"{name}: CPU of the generator", own, "us"),
    ]
    if connections == _MANY:
        above = cpu[0] - cpu[1]
        rows.append(Row(f"{name}: server CPU above the echo's", above, "us", "bound", _CPU_AIM, 1))
        rows.append(Row(f"{name}: server CPU", cpu[0], "us", _INSERT, cpu[2]))
    return rows


def _fresh(ours: Running, inserting: Running) -> Row:
    ran = _by_turns([ours, inserting], _MANY, fresh=True)
    value, floor = (median(load.microseconds for load, _ in runs) for runs in ran)
    return Row("POST a report, a fresh connection each", value, "us", _INSERT, floor)


def _through(ours: Running, inserting: Running, connections: int) -> Row:
    ran = _by_turns([ours, inserting], connections)
    value, floor = (median(load.microseconds for load, _ in runs) for runs in ran)
    name = f"POST a report through nginx, {connections} kept"
    return Row(name, value, "us", f"nginx, {_INSERT}", floor, _PROXY_AIMS[connections])


def _by_turns(
    servers: list[Running], connections: int, *, fresh: bool = False
) -> list[list[tuple[Load, float]]]:
    calls: list[Callable[[], tuple[Load, float]]] = [
        partial(_posted, server, connections, fresh) for server in servers
    ]
    interleaved(calls, 1)
    return interleaved(calls, _ROUNDS)


def _posted(server: Running, connections: int, fresh: bool) -> tuple[Load, float]:
    """Return what a run took, and the server's CPU a request in microseconds."""
    day = datetime.now(UTC).date()
    count = _REQUESTS[connections]
    bodies = [body(1, day) for _ in range(count)]
    before = cpu_seconds(server)
    load = post(server.port, REPORTS_PATH, bodies, connections, fresh=fresh)
    return load, 1e6 * (cpu_seconds(server) - before) / count


def posted_seconds(server: Running) -> float:
    """Post single reports over many kept connections; return the seconds that each took."""
    return _posted(server, _MANY, fresh=False)[0].microseconds / 1e6


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
