"""What a durable answer over HTTP costs, beside an ASGI echo under the same server."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

from rumor_shared.wire import MAX_BATCH_REPORTS, REPORTS_PATH
from rumor_simulations.bench.load import requests_per_second
from rumor_simulations.bench.measures.ingestion import REGISTRY, body
from rumor_simulations.bench.row import Row, interleaved

_ROUNDS = 7
_PEER = "ASGI echo, same server"
# (reports a request, requests a round, connections at a time): as many devices as a second brings,
# and as many queues as a drain of a day's outboxes has.
_LOADS = ((1, 3000, 128), (MAX_BATCH_REPORTS, 100, 8))
_START_SECONDS = 60
_RUMOR = "import sys; from rumor_shared.console import main; sys.exit(main())"


def measure() -> list[Row]:
    """Post single reports and batches of 500; microseconds each, medians. Below 2 is the target."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="rumor-bench-") as name, _servers(Path(name)) as ports:
        for reports, requests, connections in _LOADS:
            calls = [partial(_round, port, reports, requests, connections) for port in ports]
            ours, echo = (1e6 / median(rates) for rates in interleaved(calls, _ROUNDS))
            what = f"POST, reports a body: {reports}"
            rows.append(Row(what, ours, "us", _PEER, echo))
    return rows


def _round(port: int, reports: int, requests: int, connections: int) -> float:
    day = datetime.now(UTC).date()
    bodies = [body(reports, day) for _ in range(requests)]
    return requests_per_second(port, REPORTS_PATH, bodies, connections)


@contextmanager
def _servers(folder: Path) -> Iterator[tuple[int, int]]:
    """Run a collector and an echo, each a process; yield their ports."""
    registry = folder / "metrics.toml"
    registry.write_text(REGISTRY, "utf-8")
    ours, echo = _free_port(), _free_port()
    collector = ["-c", _RUMOR, "serve", "--registry", str(registry)]
    collector += ["--database", str(folder / "rumor.sqlite"), "--port", str(ours)]
    with (
        _running([*collector, "--log-level", "error"], ours),
        _running(["-m", "rumor_simulations.bench.echo", str(echo)], echo),
    ):
        yield ours, echo


@contextmanager
def _running(words: Sequence[str], port: int) -> Iterator[None]:
    with subprocess.Popen([sys.executable, *words]) as process:  # noqa: S603 - our own words
        try:
            _wait(process, port)
            yield
        finally:
            process.terminate()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        connection = HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError("the server under the bench did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
