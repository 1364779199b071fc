"""A collector of a fixed day on a real socket, and the script `rumor`, both within this process.

The only place of the golden tests that names modules of the server: where a module moves, the
imports of `application` follow it and nothing else does.
"""

import contextlib
import http.client
import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from unittest.mock import patch

import uvicorn

START_SECONDS = 30


def application(registry: str, today: Callable[[], date], settings: Mapping[str, Any]) -> Any:
    """Return the collector's ASGI application on the database that `settings` name."""
    from rumor_server.app import create_app
    from rumor_server.settings import Settings
    from rumor_server.storage.open_store import open_store
    from rumor_shared.registry import parse_registry

    given = Settings(**settings)
    return create_app(parse_registry(registry.encode()), open_store(given), given, today)


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


@dataclass
class Opened:
    """A running collector; `today` may be moved."""

    port: int
    today: date

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        path: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, dict(headers or {}))
            got = connection.getresponse()
            found = {name.lower(): value for name, value in got.getheaders()}
            return Answer(got.status, found, got.read())
        finally:
            connection.close()

    def count(self, batch: dict[str, Any]) -> None:
        """Send a batch, all of which must be accepted."""
        body = json.dumps(batch, separators=(",", ":")).encode()
        answer = self.ask("/v1/reports", "POST", body, {"Content-Type": "application/json"})
        assert {one["verdict"] for one in answer.json["results"]} == {"accepted"}, answer.body


@contextmanager
def opened(database: Path, registry: str, day: date, **settings: Any) -> Iterator[Opened]:
    """Run a collector whose UTC day is `day`, until the context ends."""
    running = Opened(0, day)
    app = application(registry, lambda: running.today, {"database": database, **settings})
    config = uvicorn.Config(
        app, port=0, log_config=None, access_log=False, server_header=False, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + START_SECONDS
        while not server.started:
            assert thread.is_alive(), "it did not start"
            assert time.monotonic() < deadline, "it did not start in time"
            time.sleep(0.01)
        running.port = server.servers[0].sockets[0].getsockname()[1]
        yield running
    finally:
        server.should_exit = True
        thread.join()


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


def rumor(*words: str, folder: Path) -> Ran:
    """Run the console script `rumor` as if in `folder`, without any setting of this machine."""
    (script,) = entry_points(group="console_scripts", name="rumor")
    main = script.load()
    clean = {name: text for name, text in os.environ.items() if not name.startswith("RUMOR_")}
    clean |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, clean, clear=True),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main(list(words))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    return Ran(code, out.getvalue(), err.getvalue())
