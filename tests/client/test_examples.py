"""The example apps run as they stand, against a collector over HTTP."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from tests.harness.devices import ROOT
from tests.harness.http_server import collecting

from rumor_client.testing import FakeCollector

EXAMPLES = ROOT / "examples"


@pytest.fixture
def collector() -> FakeCollector:
    """A collector that counts."""
    return FakeCollector()


@pytest.fixture(autouse=True)
def surroundings(
    collector: FakeCollector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """What the examples read of their environment."""
    for name in ("DO_NOT_TRACK", "RUMOR_CONSENT", "http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("RUMOR_STATE", str(tmp_path / "state"))
    with collecting(collector) as url:
        monkeypatch.setenv("RUMOR_ENDPOINT", url)
        yield


def load(name: str) -> ModuleType:
    """Import an example."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_wsgi_app_reports_what_its_owner_agreed_to(collector: FakeCollector) -> None:
    """Nothing before the grant, then one report an export, and nothing after the denial."""
    app = load("wsgi_app")

    def call(method: str, path: str) -> tuple[str, str]:
        environ: dict[str, Any] = {}
        setup_testing_defaults(environ)
        environ |= {"REQUEST_METHOD": method, "PATH_INFO": path}
        started: list[str] = []
        body = app.application(environ, lambda status, headers: started.append(status))
        return started[0], b"".join(body).decode()

    assert call("POST", "/export/pdf") == ("200 OK", "exported\n")
    call("POST", "/telemetry/grant")
    call("POST", "/export/pdf")
    call("POST", "/export/docx")
    assert "waiting        2 reports" in call("GET", "/telemetry")[1]
    assert call("GET", "/nowhere")[0] == "404 Not Found"
    app.client.close()
    assert len(collector.counted) == 2
    call("POST", "/telemetry/deny")
    call("POST", "/export/pdf")
    assert "denied" in call("GET", "/telemetry")[1]
    app.client.close()


def test_the_asgi_app_uploads_at_shutdown(collector: FakeCollector) -> None:
    """Requests are answered on the loop, and the lifespan's end has sent what waits."""
    app = load("asgi_app")

    async def call(method: str, path: str) -> tuple[int, str]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request"}

        await app.application({"type": "http", "method": method, "path": path}, receive, send)
        return sent[0]["status"], sent[1]["body"].decode()

    async def live() -> None:
        asked = iter(["lifespan.startup", "lifespan.shutdown"])
        heard: list[str] = []

        async def receive() -> Any:
            message = next(asked)
            if message == "lifespan.shutdown":
                assert await call("POST", "/telemetry/grant") == (200, "thank you\n")
                for wanted in ("pdf", "csv", "odt"):
                    assert await call("POST", f"/export/{wanted}") == (200, "exported\n")
                assert "3 reports" in (await call("GET", "/telemetry"))[1]
                assert (await call("GET", "/nowhere"))[0] == 404
            return {"type": message}

        async def send(message: Any) -> None:
            heard.append(message["type"])

        await app.application({"type": "lifespan"}, receive, send)
        assert heard == ["lifespan.startup.complete", "lifespan.shutdown.complete"]

    asyncio.run(live())
    assert len(collector.counted) == 3


def test_the_cli_app_sends_before_it_ends_and_forgets_on_demand(collector: FakeCollector) -> None:
    """Each run is a process; a report leaves with its run; `forget` takes all back."""

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / "cli_app.py"), *words],
            check=True,
            capture_output=True,
            text=True,
            timeout=30,
            env=dict(os.environ),
        )
        assert done.stderr == ""
        return done.stdout

    assert run("export", "pdf") == "exported\n"
    assert collector.counted == {}
    assert "granted" in run("telemetry", "grant")
    run("export", "pdf")
    assert len(collector.counted) == 1
    assert "taken back     1 reports" in run("telemetry", "forget")
    assert collector.counted == {}
    assert "denied" in run("telemetry", "show")


def test_every_example_is_in_the_readme() -> None:
    """The page lists each app, and no other."""
    listed = (EXAMPLES / "README.md").read_text()
    apps = {path.name for path in EXAMPLES.glob("*.py")}
    assert {name for name in apps if f"`{name}`" not in listed} == set()
    assert apps == {"wsgi_app.py", "asgi_app.py", "cli_app.py"}
