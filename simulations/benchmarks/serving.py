"""A collector, and the echo beside it, each a process of its own for as long as a measure lasts."""

from __future__ import annotations

import os
import shutil
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
_NGINX = Path(__file__).parents[2] / "deploy" / "nginx.conf"
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
def echo(file: Path | None = None) -> Iterator[Running]:
    """Run the bare ASGI echo under the same server; with a file, it inserts durably first."""
    port = _free_port()
    words = ["-m", "benchmarks.echo", str(port), *([str(file)] if file else [])]
    with _process(words, port) as running:
        yield running


@contextmanager
def nginx(folder: Path, upstream: Running) -> Iterator[Running]:
    """Run the shipped nginx.conf before a server, without TLS and without its limit of callers.

    Raises FileNotFoundError where nginx isn't installed.
    """
    program = shutil.which("nginx")
    if program is None:
        raise FileNotFoundError("nginx")
    port = _free_port()
    (folder / "nginx.conf").write_text(_adapted(folder, port, upstream.port), "utf-8")
    user = " user root;" if os.geteuid() == 0 else ""
    words = ["-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    with _process([*words, "-g", f"daemon off;{user}"], port, program) as running:
        yield Running(running.pid, port)


def _adapted(folder: Path, port: int, upstream: int) -> str:
    text = _NGINX.read_text("utf-8")
    temporary = "".join(
        f"    {kind}_temp_path {folder / kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    kept = [
        line
        for line in text.splitlines()
        if not line.strip().startswith(("ssl_", "limit_req zone="))
    ]
    text = "\n".join(kept) + "\n"
    for old, new in {
        "/run/nginx.pid": f"{folder}/nginx.pid",
        "server collector:8000;": f"server 127.0.0.1:{upstream};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port};",
        "http {\n": "http {\n" + temporary,
    }.items():
        text = text.replace(old, new)
    return text


def cpu_seconds(running: Running) -> float:
    """Return the CPU time that a server has used since its start."""
    fields = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _process(words: Sequence[str], port: int, program: str = sys.executable) -> Iterator[Running]:
    with subprocess.Popen(  # noqa: S603 - our own words
        [program, *words], stdout=subprocess.DEVNULL
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
