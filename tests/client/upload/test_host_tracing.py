"""The host traces its requests: no header leaves that we didn't set, and reports arrive (H3-14)."""

from __future__ import annotations

import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.harness.devices import ROOT
from tests.harness.http_server import serving, write

from rumor_client import Request
from rumor_client.testing import FakeCollector

OURS = {
    *("host", "content-type", "accept", "user-agent", "accept-encoding"),
    *("content-length", "connection"),
}

# How a host sets up its tracing, and a call of its own that shows that it traces.
HOSTS = {
    "sentry": """
import sentry_sdk
sentry_sdk.init("http://key@127.0.0.1:9/1", transport=lambda event: None)
""",
    "sentry in a transaction": """
import sentry_sdk
sentry_sdk.init("http://key@127.0.0.1:9/1", traces_sample_rate=1, transport=lambda event: None)
sentry_sdk.start_transaction(name="checkout /user/4711").__enter__()
""",
    "opentelemetry": """
from opentelemetry import trace
from opentelemetry.instrumentation.urllib import URLLibInstrumentor
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
URLLibInstrumentor().instrument()
trace.get_tracer("app").start_as_current_span("checkout /user/4711").__enter__()
""",
}

SCRIPT = """
import sys, urllib.request
url, state = sys.argv[1:]
{host}
from tests.harness.devices import device
from rumor_client.testing import FakeClock
clock = FakeClock()
client = device(endpoint=url, state=state, clock=clock)
for _ in range(2):
    client.record("theme", "dark")
    clock.move(days=1)
    assert client.flush().accepted == 1
client.close()
urllib.request.urlopen(urllib.request.Request(url + "/own", b"x")).read()
"""


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_no_header_leaves_that_we_didnt_set(host: str, tmp_path: Path) -> None:
    """Two days' uploads carry our own headers alone, though the host's own request is traced."""
    collector, seen = FakeCollector(), list[Request]()

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        seen.append(request)
        if request.url == "/own":
            handler.send_response(204)
            handler.end_headers()
        else:
            write(handler, collector(request))

    with serving(respond) as url:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT.format(host=host), url, tmp_path / "s"],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    *uploads, own = seen
    assert {"sentry-trace", "traceparent"} & {name.lower() for name in own.headers}
    assert len(uploads) == 2
    for request in uploads:
        assert {name.lower() for name in request.headers} <= OURS
    first, second = ({**request.headers, "Content-Length": ""} for request in uploads)
    assert first == second
    bodies = [json.loads(request.body) for request in uploads]
    assert bodies[0]["pseudonym"] != bodies[1]["pseudonym"]
