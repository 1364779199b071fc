"""A real collector for the demo: `rumor serve` as a process of its own, on a port of its own."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

HOST = "127.0.0.1"
DATABASE = "rumor.sqlite3"
# The script `rumor` by way of this interpreter, wherever the script itself may lie.
_SERVE = "from rumor_shared.console import main; raise SystemExit(main())"
# Threads of BLAS wait for each other in busy loops: where devices play on the same two cores,
# decoding took ten times as long with two of them as with one.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}
# What `rumor serve` prints once it listens.
_LISTENS = re.compile(rf"collects at http://{re.escape(HOST)}:(\d+)$", re.MULTILINE)
# Importing scipy on a busy machine takes seconds; a collector that takes longer does not start.
START_SECONDS = 60.0
# Draining answers what was already read; uvicorn then closes at once.
STOP_SECONDS = 30.0
# Decoding 88,799 candidates takes most of a minute on a slow machine.
ESTIMATE_SECONDS = 300.0


class CollectorFailed(RuntimeError):
    """The collector did not start, stopped by itself, or gave an answer that is none."""


def _environment() -> dict[str, str]:
    """Return ours without settings of a collector: the demo's are its own."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RUMOR_")}
    return kept | _ENVIRONMENT


class Collector:
    """`rumor serve` on a free port, its database and log in `folder`. A context manager.

    `registry` is the body of the registry file, written to `folder` as `metrics.toml`. A database
    that the folder holds is gone on with.
    """

    def __init__(self, folder: Path, registry: bytes) -> None:
        self.folder = folder.absolute()
        self._registry = registry
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where the collector listens, without a slash at the end."""
        return f"http://{HOST}:{self._port}"

    @property
    def log(self) -> Path:
        """What the collector wrote to its standard output and error."""
        return self.folder / "collector.log"

    def __enter__(self) -> Collector:
        """Start the collector and wait until it listens. Raises CollectorFailed."""
        registry = self.folder / "metrics.toml"
        registry.write_bytes(self._registry)
        words = ["serve", "--registry", str(registry)]
        words += ["--database", str(self.folder / DATABASE), "--host", HOST, "--port", "0"]
        # A session of its own: Ctrl-C reaches the demo alone, which then stops the collector.
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603  # this interpreter, our own words
                [sys.executable, "-c", _SERVE, *words],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self.folder,
                env=_environment(),
            )
        try:
            self._port = self._await_port()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the collector."""
        self.stop()

    def stop(self) -> None:
        """Let the collector drain and end; kill it if it does not. Harmless when repeated."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait(self) -> None:
        """Wait until the collector ends, which it does by itself only where something is wrong."""
        if self._process is not None:
            self._process.wait()

    def estimates(self, metric: str, candidates: Sequence[str] | None) -> dict[str, Any]:
        """Return what the collector estimates of a metric; candidates only for an open domain.

        Raises CollectorFailed if the answer is not 200.
        """
        path = f"/v1/metrics/{quote(metric, safe='')}/estimates"
        if candidates is None:
            return self._ask("GET", path)
        return self._ask("POST", path, {"candidates": list(candidates)})

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        status, answer = _request(self._port, method, path, body)
        if status != http.client.OK:
            raise CollectorFailed(f"{method} {path} was answered {status}: {answer[:500]!r}")
        parsed: dict[str, Any] = json.loads(answer)
        return parsed

    def _await_port(self) -> int:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if said := _LISTENS.search(self.log.read_text("utf-8", "replace")):
                return int(said[1])
            if self._process is None or self._process.poll() is not None:
                raise CollectorFailed(f"the collector ended at its start:\n{self._last_words()}")
            time.sleep(0.05)
        raise CollectorFailed(
            f"the collector did not listen after {START_SECONDS:.0f} s:\n{self._last_words()}"
        )

    def _last_words(self) -> str:
        return self.log.read_text("utf-8", "replace")[-2000:].strip() or "it wrote nothing"


def _request(
    port: int, method: str, path: str, body: Mapping[str, Any] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, port, timeout=ESTIMATE_SECONDS)
    headers = {"Accept": "application/json"}
    try:
        if body is None:
            connection.request(method, path, headers=headers)
        else:
            headers["Content-Type"] = "application/json"
            connection.request(method, path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
