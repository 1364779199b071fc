"""Real processes: however they start and end, what was recorded is sent once; and full disks."""

from __future__ import annotations

import ctypes
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.harness.devices import RAPPOR, ROOT, device, registry_with
from tests.harness.http_server import collecting

from rumor_client import RecordStatus
from rumor_client.process import log_once as warn
from rumor_client.process.clock import utc_now
from rumor_client.testing import FakeCollector

SETUP = """
import multiprocessing, os, signal, sys, time
from pathlib import Path
from tests.harness.devices import device
state, url = Path(sys.argv[1]), sys.argv[2]
def make(granted=False):
    return device(endpoint=url, state=state, background=True, granted=granted)
def record(client, count):
    for _ in range(count):
        while not client.record("theme", "dark").recorded:
            pass
"""


@pytest.fixture
def collector() -> FakeCollector:
    """A collector that counts."""
    return FakeCollector()


@pytest.fixture
def url(collector: FakeCollector, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The collector over HTTP."""
    monkeypatch.setenv("no_proxy", "*")
    with collecting(collector) as url:
        yield url


def run(script: str, folder: Path, url: str) -> subprocess.CompletedProcess[bytes]:
    """Run a script as a file, which `spawn` needs, and return how it ended."""
    file = folder / "script.py"
    file.write_text(SETUP + script)
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(file), str(folder / "state"), url],
        check=False,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def send_the_rest(folder: Path, url: str) -> None:
    """Do what the next run of the app does."""
    client = device(endpoint=url, state=folder / "state", granted=False)
    client.flush()
    client.close()


def sent_reports(collector: FakeCollector) -> int:
    """Return how many reports were in requests, repeats among them."""
    return sum(len(batch["reports"]) for batch in collector.batches)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_loses_and_repeats_nothing(
    method: str, collector: FakeCollector, url: str, tmp_path: Path
) -> None:
    """One report before, five in each of two children, one after: twelve arrive, none twice. A
    child of `multiprocessing` ends without `atexit`; the parent sends for it (QU-02).
    """
    script = f"""
def work():
    record(client if "client" in globals() else make(), 5)
if __name__ == "__main__":
    client = make(granted=True)
    record(client, 1)
    context = multiprocessing.get_context({method!r})
    children = [context.Process(target=work) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
        assert child.exitcode == 0, child.exitcode
    record(client, 1)
"""
    assert run(script, tmp_path, url).returncode == 0
    send_the_rest(tmp_path, url)
    assert len(collector.counted) == 12
    assert sent_reports(collector) == 12


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("os._exit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)", -signal.SIGTERM),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
        ("raise SystemExit(4)", 4),
        ("1 / 0", 1),
    ],
)
def test_however_a_process_ends_its_reports_are_sent_once(
    end: str, code: int, collector: FakeCollector, url: str, tmp_path: Path
) -> None:
    """What `record` returned for is sent by this run or the next, with one id each."""
    script = f"client = make(granted=True); record(client, 5); {end}"
    assert run(script, tmp_path, url).returncode == code
    send_the_rest(tmp_path, url)
    assert len(collector.counted) == 5


def test_a_process_killed_between_answer_and_commit_counts_once(
    collector: FakeCollector, url: str, tmp_path: Path
) -> None:
    """Killed when the collector has counted and the device doesn't know: the next run sends the
    same bytes, and hears `duplicate`.
    """
    script = """
from rumor_client import arguments
real = arguments.send
def send_and_die(request):
    real(request)
    os.kill(os.getpid(), signal.SIGKILL)
import rumor_client.client
from tests.harness import devices
devices.send = send_and_die
client = make(granted=True); record(client, 5); client.flush()
"""
    assert run(script, tmp_path, url).returncode == -signal.SIGKILL
    assert len(collector.counted) == 5
    send_the_rest(tmp_path, url)
    assert len(collector.counted) == 5
    assert sent_reports(collector) == 10
    assert len({bytes(request.body) for request in collector.requests}) == 1


def test_a_request_at_sigterm_time_is_sent_by_the_next_run(
    collector: FakeCollector, url: str, tmp_path: Path
) -> None:
    """An app that handles SIGTERM by leaving uploads at its exit, within the deadline."""
    script = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
client = make(granted=True); record(client, 5)
os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)
"""
    assert run(script, tmp_path, url).returncode == 0
    assert len(collector.counted) == 5


def free_port() -> int:
    """Return a port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ask(port: int, method: str, path: str) -> str:
    """Send a request to the app."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_gunicorn_preload_loses_and_repeats_nothing(
    collector: FakeCollector, url: str, tmp_path: Path
) -> None:
    """A client made before the fork of two workers: each records and uploads by itself, none of
    twenty reports is lost or counted twice, and SIGTERM ends it in time (QU-02).
    """
    port = free_port()
    words = ["-m", "gunicorn", "--preload", "--workers", "2", "--threads", "2"]
    words += ["--bind", f"127.0.0.1:{port}", "--chdir", str(ROOT / "examples")]
    words += ["--no-control-socket", "--log-level", "error", "wsgi_app:application"]
    surroundings = {
        **{k: v for k, v in os.environ.items() if k not in ("DO_NOT_TRACK", "RUMOR_CONSENT")},
        "RUMOR_ENDPOINT": url,
        "RUMOR_STATE": str(tmp_path / "state"),
    }
    server = subprocess.Popen([sys.executable, *words], cwd=ROOT, env=surroundings)
    try:
        end = time.monotonic() + 30
        while True:
            try:
                ask(port, "POST", "/telemetry/grant")
                break
            except OSError:
                assert server.poll() is None
                assert time.monotonic() < end
                time.sleep(0.1)
        # The example's registry allows four reports a day.
        answers = [ask(port, "POST", "/export/pdf") for _ in range(20)]
        assert answers == ["exported\n"] * 20
    finally:
        server.terminate()
        server.wait(20)
    client = device(endpoint=url, state=tmp_path / "state", granted=False, clock=utc_now)
    client.flush()
    status = client.status()
    client.close()
    assert status.spent_life == 4_000_000
    assert len(collector.counted) == 4
    assert status.dropped == {}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; needs the right to mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    mounted = getattr(libc, "mount", None)
    if mounted is None or mounted(b"none", bytes(place), b"tmpfs", 0, b"size=256k"):
        pytest.skip("only root can mount a file system")
    try:
        yield place
    finally:
        # MNT_DETACH: a test that failed may have left a file open.
        assert libc.umount2(bytes(place), 2) == 0


def fill(ballast: Path) -> None:
    """Leave no room on the disk."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1024))


def test_a_full_disk_stops_recording_and_nothing_else(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a full disk `record` is unavailable, with one warning; what it recorded is all there, and
    with room again it goes on.
    """
    monkeypatch.setattr(warn, "_warned", set())
    wide = registry_with({"browser": {**RAPPOR, "bits": 4096}}, daily_epsilon=100_000)
    collector = FakeCollector()
    client = device(wide, state=small_disk / "state", transport=collector)
    ballast = small_disk / "ballast"
    assert client.record("browser", "x").recorded
    fill(ballast)
    statuses = [client.record("browser", "x").status for _ in range(40)]
    assert RecordStatus.UNAVAILABLE in statuses
    recorded = 1 + statuses.count(RecordStatus.RECORDED)
    assert len(caplog.records) == 1
    ballast.unlink()
    assert client.record("browser", "x").recorded
    assert client.status().waiting == recorded + 1
    cost = wide.metric("browser").mechanism.epsilon_report
    assert client.status().spent_today == (recorded + 1) * cost
    assert client.flush().accepted == recorded + 1
    client.close()


def test_a_limit_on_file_sizes_is_a_full_disk(tmp_path: Path) -> None:
    """Where the file may not grow (RLIMIT_FSIZE) the app goes on, and what was recorded stays."""
    script = """
import resource
client = device(endpoint=None, state=state)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
record(client, 3)
size = sum(file.stat().st_size for file in state.parent.iterdir())
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
seen = {client.record("theme", "dark").status.value for _ in range(300)}
assert "unavailable" in seen, seen
"""
    assert run(script, tmp_path, "http://collector.invalid").returncode == 0
    client = device(state=tmp_path / "state", granted=False)
    status = client.status()
    assert status.waiting >= 3
    assert status.spent_life == status.waiting * 1_000_000
    client.close()


@pytest.mark.parametrize("readable", [0o555, 0o000])
def test_a_read_only_place_stops_recording_and_nothing_else(readable: int) -> None:
    """A state that can't be written, or not even be looked at, is unavailable, with one warning;
    nothing is replayed, and no thread dies of it.
    """
    script = f"""
import logging, threading
logging.basicConfig(stream=sys.stdout)
threading.excepthook = lambda args: print("WARNING: a thread died")
client = make(granted=True)
record(client, 1)
client.state.close()
os.chmod(state.parent, {readable})
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
seen = {{client.record("theme", "dark").status.value for _ in range(5)}}
assert seen == {{"unavailable"}}, seen
assert client.flush().accepted == 0
client.close()
"""
    # The folders of pytest are its user's alone, all the way up.
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / "own"
        folder.mkdir()
        Path(above).chmod(0o755)
        try:
            done = subprocess.run(
                [
                    sys.executable,
                    "-W",
                    "ignore",
                    "-c",
                    SETUP + script,
                    str(folder / "s"),
                    "http://x",
                ],
                check=False,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=60,
            )
        finally:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("WARNING") == 1


LOADED = """
[registry]
daily_epsilon = 2.0
[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
daily_epsilon = 1.0
values = ["light", "dark"]
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31
"""


def test_a_fork_waits_while_another_thread_loads_the_client(tmp_path: Path) -> None:
    """Python locks a module while it loads: a child of that moment makes a client all the same."""
    program = """
import os, sys, threading, time
import rumor_client
registry, folder = sys.argv[1:]

def make(name):
    with rumor_client.Client(registry, state=f"{folder}/{name}") as client:
        return client.status().waiting

first = threading.Thread(target=make, args=("first",))
first.start()
time.sleep(0.002)
child = os.fork()
if not child:
    make("child")
    os._exit(7)
first.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    registry = tmp_path / "metrics.toml"
    registry.write_text(LOADED)
    done = subprocess.run(
        [sys.executable, "-c", program, str(registry), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "7\n", done.stderr
