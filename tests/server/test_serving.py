"""`rumor serve` as a process: slow sockets are cut, one thread of algebra, logs that are JSON."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.harness.collector import REGISTRY, batch, compact, report
from tests.harness.collector_process import DAY, RUMOR, Serving

from rumor_server.access import Scope
from rumor_server.operations.keyring import create_key
from rumor_server.settings import Settings
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.sqlite.store import SqliteStore

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31")
SLOW = 200
# What 200 half-sent requests may cost in memory (SV-03).
MEMORY_KIB = 50 * 1024


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    """A collector that gives headers two seconds."""
    monkeypatch.setenv("RUMOR_HEADER_SECONDS", "2")
    started = Serving(tmp_path, LASTING)
    started.start()
    yield started
    started.kill()


def resident_kib(serving: Serving) -> int:
    """The memory that the collector's process holds."""
    assert serving.process is not None
    status = Path(f"/proc/{serving.process.pid}/status")
    if not status.exists():
        pytest.skip("the memory of a process is read from /proc")
    (line,) = [one for one in status.read_text().splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1])


def test_cuts_slow_headers(serving: Serving) -> None:
    """SV-03: of 200 sockets with a byte a second, all are cut, others are answered in a second."""
    before = resident_kib(serving)
    slow = [socket.create_connection(("127.0.0.1", serving.port)) for _ in range(SLOW)]
    try:
        head = iter(b"GET /healthz HTTP/1.1\r\n")
        for _ in range(4):
            byte = bytes([next(head)])
            for one in slow:
                try:
                    one.sendall(byte)
                except OSError:
                    continue
            started = time.monotonic()
            assert serving.request("GET", "/healthz").status == 200
            assert time.monotonic() - started < 1
            time.sleep(1)
        assert resident_kib(serving) - before < MEMORY_KIB
        assert sum(is_cut(one) for one in slow) == SLOW
    finally:
        for one in slow:
            one.close()


def is_cut(one: socket.socket) -> bool:
    """Whether the other side has closed or reset a connection."""
    one.settimeout(2)
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_cuts_a_later_request_too(serving: Serving) -> None:
    """A connection that was answered once gets no longer for its next headers."""
    with socket.create_connection(("127.0.0.1", serving.port)) as one:
        one.settimeout(10)
        for _ in range(2):
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while not answer.endswith(b'"ok"}'):
                answer += one.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200")
        one.sendall(b"G")
        started = time.monotonic()
        assert is_cut(one) or one.recv(1) == b""
        assert time.monotonic() - started < 5


def test_does_not_cut_a_slow_body(serving: Serving) -> None:
    """Once the headers are in, the body has its own, longer time."""
    with socket.create_connection(("127.0.0.1", serving.port)) as one:
        one.settimeout(10)
        head = b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        one.sendall(head + b"Content-Length: 2\r\n\r\n{")
        time.sleep(3)
        one.sendall(b"}")
        assert one.recv(4096).startswith(b"HTTP/1.1 400")


def test_logs_one_object_a_line(serving: Serving) -> None:
    """Every line of the log is a JSON object, but for the one that tells where it listens."""
    serving.request("GET", "/nowhere")
    assert serving.stop() == 0
    lines = serving.log.read_text("utf-8").splitlines()
    objects = [json.loads(line) for line in lines if not line.startswith("Rumor collects at ")]
    assert len(objects) >= len(lines) - 1 > 0
    assert all({"time", "level", "logger", "message"} <= set(one) for one in objects)


def test_logs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At debug no log holds a key, neither a right nor a wrong one."""
    monkeypatch.setenv("RUMOR_INGEST_ACCESS", "key")
    monkeypatch.setenv("RUMOR_LOG_LEVEL", "debug")
    serving = Serving(tmp_path, LASTING)
    with closing(SqliteStore(serving.database)):
        control = Control(Settings(database=serving.database))
        key = create_key(control, "app", Scope.INGEST, DAY)
        control.close()
    serving.start()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=30)
        body = compact(batch(report(), day=DAY))
        for given, status in ((key, 200), (key[:-1] + "_wrong", 401)):
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {given}"}
            connection.request("POST", "/v1/reports", body, headers)
            answer = connection.getresponse()
            assert answer.status == status, answer.read()
            answer.read()
        connection.close()
        assert serving.stop() == 0
        assert key[-43:-3] not in serving.log.read_text("utf-8")
    finally:
        serving.kill()


def test_ends_with_0_when_told_to(serving: Serving) -> None:
    """Told to end, by SIGTERM or Ctrl-C, it drains and exits 0, as what supervises it expects."""
    assert serving.stop() == 0
    serving.start()
    assert serving.process is not None
    serving.process.send_signal(signal.SIGINT)
    assert serving.process.wait(30) == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_ends_with_0_without_anyone_to_tell(tmp_path: Path, closed: str) -> None:
    """N-22: closed standard streams change nothing of a start, of counting and of a stop."""
    words = ["sh", "-c", f'exec "$0" "$@" {closed}', str(RUMOR)]
    serving = Serving(tmp_path, LASTING, program=words)
    serving.start()
    try:
        body = compact(batch(report(), day=DAY))
        assert serving.request("POST", "/v1/reports", body).status == 200
        assert serving.stop() == 0
    finally:
        serving.kill()
    assert "Traceback" not in serving.log.read_text("utf-8")


def test_survives_who_read_its_log(tmp_path: Path) -> None:
    """N-22: when what reads the log has gone, reports are counted and a stop ends with 0."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    words = ["sh", "-c", f'exec "$0" "$@" >{fifo} 2>&1', str(RUMOR)]
    serving = Serving(tmp_path, LASTING, settings={"log_level": "debug"}, program=words)
    reader = subprocess.Popen(["head", "-c1", str(fifo)], stdout=subprocess.DEVNULL)
    serving.start()
    try:
        assert reader.wait(30) == 0
        for _ in range(3):
            body = compact(batch(report(), day=DAY))
            assert serving.request("POST", "/v1/reports", body).status == 200
        assert serving.stop() == 0
    finally:
        serving.kill()


def test_a_hang_up_reads_the_log_level_again(tmp_path: Path) -> None:
    """SIGHUP: with a settings file its log level counts from then on; a broken one is told."""
    file = tmp_path / "settings.toml"
    file.write_text('log_level = "error"\n', "utf-8")
    serving = Serving(tmp_path, LASTING, more=("--settings", str(file)))
    serving.start()
    try:
        assert serving.process is not None
        for text, said in (
            ('log_level = "debug"', "the log level is debug"),
            ('log_level = "loud"', "is not a choice"),
            ('log_level = "error"', "the log level is error"),
        ):
            file.write_text(text, "utf-8")
            serving.process.send_signal(signal.SIGHUP)
            wait_for(lambda said=said: said in serving.log.read_text("utf-8"))  # type: ignore[misc]
        assert serving.request("GET", "/readyz").status == 200
        assert serving.stop() == 0
    finally:
        serving.kill()


def test_a_hang_up_without_a_file_stops(serving: Serving) -> None:
    """SIGHUP: when its terminal closes, a collector drains and ends with 0."""
    assert serving.process is not None
    serving.process.send_signal(signal.SIGHUP)
    assert serving.process.wait(30) == 0


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, ten seconds at most."""
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_runs_algebra_on_one_thread() -> None:
    """Before numpy is imported, each library of linear algebra is told to use one thread."""
    script = """
import os, sys
from rumor_server.cli import serve
assert "numpy" not in sys.modules
serve.main(["--registry", "no-such-file.toml"])
assert "numpy" in sys.modules
print(*(os.environ[name] for name in serve.ONE_THREAD))
"""
    bare = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, env=bare, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1", "1"]
    chosen = subprocess.run(
        words, env=bare | {"OMP_NUM_THREADS": "2"}, capture_output=True, text=True, check=True
    )
    assert chosen.stdout.split() == ["1", "2", "1"]


def test_answers_head_without_a_body(serving: Serving) -> None:
    """After HEAD nothing of a body is on the wire: the connection's next answer comes whole."""
    connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=30)
    try:
        for path in (
            "/healthz",
            "/metrics",
            "/docs",
            "/static/icon.svg",
            "/v1/metrics",
            "/nowhere",
        ):
            connection.request("HEAD", path)
            head = connection.getresponse()
            assert head.read() == b""
            connection.request("GET", path)
            got = connection.getresponse()
            body = got.read()
            assert (got.status, len(body)) == (head.status, int(got.headers["content-length"]))
            assert head.headers["content-type"] == got.headers["content-type"]
    finally:
        connection.close()


def serve(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `rumor serve` where it can't start, in a folder with a registry."""
    (folder / "metrics.toml").write_text(LASTING, "utf-8")
    return subprocess.run(
        [str(Path(sys.executable).with_name("rumor")), "serve", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=folder,
    )


def test_a_used_port_is_told_in_a_line(tmp_path: Path) -> None:
    """Where another program listens, one line names host and port and what to do; no file is made
    and the exit code is 1, which no missing module has.
    """
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = serve(tmp_path, "--port", port)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"rumor serve: 127.0.0.1:{port}: another program listens there; stop it, or give another "
        "port (0 is any)\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.toml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--host", "no-such-machine.invalid"),
            "no-such-machine.invalid:0: this is the name of no",
        ),
        (("--host", "192.0.2.1"), "192.0.2.1:0: this machine has no such address"),
    ],
)
def test_an_address_of_nobody_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    """A host that isn't this machine's is told by name, and no file is made."""
    for name in ("INGEST", "READ", "METRICS"):
        monkeypatch.setenv(f"RUMOR_{name}_ACCESS", "key")
    done = serve(tmp_path, "--port", "0", *words)
    assert done.returncode == 1
    assert done.stderr.startswith(f"rumor serve: {said}")
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.toml"]


HANGING = """
import sys, time
from rumor_server.cli import serve
from rumor_server.operations import periodic_tasks
from rumor_server.storage.sqlite.store import SqliteStore

{what} = lambda *_: time.sleep(1000)
sys.exit(serve.main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "code", "status", "said"),
    [
        ("SqliteStore.commit", 0, 503, "what waited was not written"),
        ("periodic_tasks.in_force", 1, 200, "left behind"),
    ],
)
def test_a_stop_ends_though_the_database_never_answers(
    tmp_path: Path, what: str, code: int, status: int, said: str
) -> None:
    """H3-21: a call that doesn't return keeps neither a stop nor a device for ever; what was not
    acknowledged is told to come again.
    """
    program = (sys.executable, "-c", HANGING.format(what=what))
    settings = {"drain_seconds": 1, "refresh_seconds": 0.1}
    serving = Serving(tmp_path, LASTING, settings=settings, program=program)
    serving.start()
    body = compact(batch(report(), day=DAY))
    try:
        with ThreadPoolExecutor(1) as one:
            waiting = one.submit(serving.request, "POST", "/v1/reports", body)
            time.sleep(1)
            started = time.monotonic()
            assert serving.stop() == code
            assert time.monotonic() - started < 20
            assert waiting.result().status == status
        assert said in serving.log.read_text("utf-8")
    finally:
        serving.kill()


FAILING_START = """
import sys
from rumor_server.cli import serve
from rumor_server.storage.writer import Writer

def fail(writer):
    raise OSError

Writer.start = fail
sys.exit(serve.main(sys.argv[1:]))
"""


def test_a_start_that_fails_exits_with_1(tmp_path: Path) -> None:
    """A fault while starting ends with 1 and a line; 3 would say that a module is missing."""
    (tmp_path / "metrics.toml").write_text(LASTING, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", FAILING_START, "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert done.stderr.endswith("rumor serve: it did not start; the log above says why\n")


def test_does_not_listen_to_others_by_accident(tmp_path: Path) -> None:
    """Beyond loopback it starts only once somebody has decided who may do what."""
    file = tmp_path / "metrics.toml"
    file.write_text(LASTING, "utf-8")
    words = [str(Path(sys.executable).with_name("rumor")), "serve", "--host", "192.0.2.1"]
    words += ["--registry", str(file), "--database", str(tmp_path / "x.sqlite3"), "--port", "0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "ingest_access: is not decided" in done.stderr
    assert "rumor keys create" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.toml"]
