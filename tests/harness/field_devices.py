"""Devices as programs of their own on a real collector, with something between that meddles."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.harness.collector_process import Serving

SIXTEEN = {"mechanism": "rappor", "bits": 16, "hashes": 1, "cohorts": 1, "f": 0, "p": 0.25}
SIXTEEN |= {"q": 0.75, "daily_epsilon": 100}
KRR = {"mechanism": "krr", "epsilon": 1, "values": ["a", "b", "c"], "daily_epsilon": 100}


def registry(**metrics: dict[str, Any]) -> str:
    """Return a registry file of these metrics."""
    lines = ["[registry]", "daily_epsilon = 1000"]
    for name, fields in metrics.items():
        lines.append(f"[metrics.{name}]")
        whole = {"revision": 1, "owner": "test@example.org", "purpose": "to test", **fields}
        lines += [f"{key} = {json.dumps(value)}" for key, value in whole.items()]
        lines.append("expires = 2999-12-31")
    return "\n".join(lines) + "\n"


EXACT = {"0.3": ("0.1", 3), "0.6": ("0.2", 3), "1.0": ("0.1", 10)}
METRICS: dict[str, dict[str, Any]] = {
    "fork": KRR,
    "kept": KRR,
    "replayed": {**KRR, "daily_epsilon": 2},
    "midnight": {**KRR, "daily_epsilon": 1},
    "sixteen": SIXTEEN,
    "eleven": {"mechanism": "oue", "epsilon": 4, "values": [f"v{i}" for i in range(11)]},
    **{
        f"exact{number}": {**KRR, "epsilon": float(epsilon), "daily_epsilon": float(daily)}
        for number, (daily, (epsilon, _)) in enumerate(EXACT.items())
    },
}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One collector for all tests, each of which has a metric of its own."""
    serving = Serving(tmp_path_factory.mktemp("collector"), registry(**METRICS))
    serving.start()
    yield serving
    serving.kill()


def run_device(
    script: str, folder: Path, port: int, *, metrics: dict[str, Any] | None = None, **env: str
) -> str:
    """Run a device whose owner has agreed, and return what it printed."""
    (folder / "device.toml").write_text(registry(**(metrics or METRICS)))
    setup = f"""
import os, sys, time
from datetime import UTC, datetime, timedelta
from rumor_client import Client
def device(**given):
    url = "http://127.0.0.1:{port}"
    return Client("device.toml", url, state="state", background=False, **given)
client = device()
client.consent.grant()
"""
    surroundings = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DO_NOT_TRACK", "RUMOR_CONSENT")
    }
    done = subprocess.run(
        [sys.executable, "-c", setup + script],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
        env={**surroundings, "no_proxy": "*", **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def n(serving: Serving, metric: str) -> int:
    """Return how many reports the collector has counted."""
    answer = serving.request("GET", f"/v1/metrics/{metric}/estimates")
    assert answer.status == 200, answer.body
    found: int = answer.json["n"]
    return found


def batch(metric: str, payloads: list[bytes], pseudonym: bytes | None = None) -> dict[str, Any]:
    """Return a batch by hand."""
    return {
        "sdk": "test/1",
        "day": datetime.now(UTC).date().isoformat(),
        "pseudonym": text(pseudonym or os.urandom(16)),
        "reports": [
            {
                "id": text(os.urandom(16)),
                "metric": metric,
                "revision": 1,
                "cohort": 0,
                "payload": text(payload),
            }
            for payload in payloads
        ],
    }


def text(binary: bytes) -> str:
    """Return base64."""
    return base64.b64encode(binary).decode()


def results(serving: Serving, document: dict[str, Any]) -> list[dict[str, Any]]:
    """Send a batch and return its results."""
    answer = serving.request("POST", "/v1/reports", json.dumps(document).encode())
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json["results"]
    return found


Meddle = Callable[[int], str]


@contextmanager
def between(serving: Serving, meddle: Meddle) -> Iterator[tuple[int, list[bytes]]]:
    """Stand between device and collector: `meddle(number)` says what happens to an answer.

    "pass", "drop" (the connection ends after the collector's commit) or "503". Gives the port and
    the bodies that came by.
    """
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        """Passes on, or not."""

        def do_POST(self) -> None:
            """Pass the request on, and meddle with the answer."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append(body)
            answer = serving.request("POST", self.path, body, self.headers["Content-Type"])
            what = meddle(len(bodies))
            if what == "drop":
                self.close_connection = True
                return
            self.send_response(503 if what == "503" else answer.status)
            self.send_header("Content-Type", answer.type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port, bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
