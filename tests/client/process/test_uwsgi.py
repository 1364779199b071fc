"""uWSGI forks its workers from C: a client made before that is unavailable, and nothing hangs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.harness.devices import ROOT

APP = """
import os
from tests.harness.devices import device

client = device(state=os.environ["STATE"], background=True, endpoint="http://127.0.0.1:9")
at_import = client.record("theme", "dark").status

def application(environ, start_response):
    seen = {client.record("theme", "dark").status for _ in range(3)}
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {at_import} {' '.join(sorted(seen))}".encode()]
"""


@pytest.mark.slow
# Seen once in five runs beside other tests: a worker answered 500 while both imported the app.
@pytest.mark.xfail(strict=False, reason="two workers that make one state file at once; open")
@pytest.mark.skipif(sys.platform == "win32", reason="there is no uWSGI")
@pytest.mark.parametrize("options", [[], ["--enable-threads"], ["--enable-threads", "--lazy-apps"]])
def test_each_worker_answers(options: list[str], tmp_path: Path) -> None:
    """With a report recorded at import, with and without threads (D-09)."""
    (tmp_path / "app.py").write_text(APP)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words: list[str | Path] = [
        Path(sys.executable).with_name("uwsgi"),
        "--http-socket",
        f"127.0.0.1:{port}",
    ]
    words += ["--wsgi-file", tmp_path / "app.py", "--processes", "2", "--master", "--die-on-term"]
    words += ["--pythonpath", ROOT, "--disable-logging", *options]
    for folder in ("client", "shared"):
        words += ["--pythonpath", ROOT / folder]
    surroundings = {**os.environ, "STATE": str(tmp_path / "state"), "PYTHONWARNINGS": "ignore"}
    server = subprocess.Popen(
        words, env=surroundings, stderr=subprocess.DEVNULL, start_new_session=True
    )
    seen: list[str] = []
    try:
        end = time.monotonic() + 60
        while len(seen) < 8:
            assert server.poll() is None
            assert time.monotonic() < end
            try:
                connection = HTTPConnection("127.0.0.1", port, timeout=10)
                connection.request("GET", "/")
                seen.append(connection.getresponse().read().decode())
            except ConnectionRefusedError:
                time.sleep(0.1)
            finally:
                connection.close()
    finally:
        # Its own stop waits a minute for workers that are busy; nothing here is about that.
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(20)
    at_import = {line.split()[1] for line in seen}
    in_workers = {word for line in seen for word in line.split()[2:]}
    assert at_import <= {"recorded", "busy"}
    assert in_workers <= ({"recorded", "busy"} if "--lazy-apps" in options else {"unavailable"})
