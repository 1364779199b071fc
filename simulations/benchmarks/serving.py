"""A collector, and the echo beside it, each a process of its own for as long as a measure lasts."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

_START_SECONDS = 60
_RUMOR = "import sys; from rumor_shared.console import main; sys.exit(main())"


@dataclass(frozen=True)
class Running:
    """A server that answers on `port` of this machine."""

    pid: int
    port: int


@contextmanager
def collector(folder: Path, registry: str, url: str | None = None) -> Iterator[Running]:
    """Run `rumor serve` on a new SQLite file in `folder`, or on a PostgreSQL database."""
    file = folder / "metrics.toml"
    file.write_text(registry, "utf-8")
    words = ["-c", _RUMOR, "serve", "--registry", str(file), "--log-level", "error"]
    port = _free_port()
    words += ["--database", url or str(folder / "rumor.sqlite"), "--port", str(port)]
    with _process(words, port) as running:
        yield running


@contextmanager
def echo() -> Iterator[Running]:
    """Run the bare ASGI echo under the same server."""
    port = _free_port()
    with _process(["-m", "benchmarks.echo", str(port)], port) as running:
        yield running


@contextmanager
def _process(words: Sequence[str], port: int) -> Iterator[Running]:
    with subprocess.Popen(  # noqa: S603 - our own words
        [sys.executable, *words], stdout=subprocess.DEVNULL
    ) as process:
        try:
            _wait(process, port)
            yield Running(process.pid, port)
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
