"""A collector as a process of its own, met as outsiders meet it: the script `rumor` and HTTP."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RUMOR = Path(sys.executable).with_name("rumor")
# The day of all collectors that tests start, and of what is sent to them: it ends with the tests.
DAY = datetime.now(UTC).date()
_ON_A_DAY = (sys.executable, str(Path(__file__).with_name("rumor_on_a_day.py")))
START_SECONDS = 60
STOP_SECONDS = 30


class Answer:
    """An HTTP answer, read to its end."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.type = answer.headers.get_content_type()
        self.body = answer.read()

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


class Serving:
    """`rumor serve` on one port, with its files in `folder`; may be killed and started again.

    `database` is a SQLite file elsewhere, `url` a PostgreSQL database that takes its place.
    `settings` are given in the environment; `program` is what stands for `rumor` on the day `DAY`,
    `more` are further words of the command.
    """

    def __init__(
        self,
        folder: Path,
        registry: str,
        *,
        database: Path | None = None,
        url: str = "",
        settings: Mapping[str, object] | None = None,
        program: Sequence[str] = _ON_A_DAY,
        more: Sequence[str] = (),
    ) -> None:
        self.registry = folder / "metrics.toml"
        self.registry.write_text(registry, "utf-8")
        self.database = database or folder / "rumor.sqlite3"
        self.log = folder / "collector.log"
        self._words = [*program, "serve", "--registry", str(self.registry), *more]
        # Beside an address, files that are no database lie where the SQLite file would.
        given = {"database": self.database, "database_url": url, **(settings or {})}
        self._environment = {f"RUMOR_{name.upper()}": str(value) for name, value in given.items()}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the collector and wait until it is ready."""
        words = [*self._words, "--port", str(self.port)]
        environment = {**os.environ, "HARNESS_DAY": DAY.isoformat(), **self._environment}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text("utf-8", "replace")
            try:
                if self.request("GET", "/readyz").status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"not ready in time: {self.log.read_text('utf-8', 'replace')}")

    def kill(self) -> None:
        """End the collector as a power cut would end its process: SIGKILL, no chance to act."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_SECONDS)

    def stop(self) -> int:
        """Ask the collector to drain and end; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)

    def request(
        self, method: str, path: str, body: bytes | None = None, type_: str = "application/json"
    ) -> Answer:
        """Send one request on a connection of its own. Raises OSError and HTTPException."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {} if body is None else {"Content-Type": type_}
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()
