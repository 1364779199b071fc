"""The thread that uploads, the exit of the process, and forks: nothing lost, nothing twice."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest
from tests.harness.devices import ROOT, device
from tests.harness.http_server import collecting, serving

from rumor_client import Client, Request, Response
from rumor_client.process import log_once as warn
from rumor_client.testing import FakeClock, FakeCollector, lost
from rumor_client.upload import worker


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Wait for a condition to hold."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def upload_threads() -> list[threading.Thread]:
    """Return the upload threads of this process."""
    return [thread for thread in threading.enumerate() if thread.name == "rumor-upload"]


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Each test ends its threads."""
    yield
    assert wait_until(lambda: not upload_threads())


@pytest.fixture
def collector() -> FakeCollector:
    """A collector that counts."""
    return FakeCollector()


@pytest.fixture
def url(collector: FakeCollector) -> Iterator[str]:
    """The collector over HTTP."""
    with collecting(collector) as url:
        yield url


def test_recording_starts_the_upload_and_nothing_before_does(collector: FakeCollector) -> None:
    """The thread starts with the first report, sends within the interval, and is a daemon."""
    client = device(transport=collector, background=True, upload_interval=0.05)
    assert upload_threads() == []
    client.record("theme", "dark")
    (thread,) = upload_threads()
    assert thread.daemon
    assert wait_until(lambda: len(collector.counted) == 1)
    client.record("theme", "dark")
    assert wait_until(lambda: len(collector.counted) == 2)
    client.close()


def test_the_thread_tries_again(collector: FakeCollector) -> None:
    """A lost request is repeated after the back-off, without anyone asking."""
    collector.script = [lost, lost]
    client = device(transport=collector, background=True, upload_interval=0.05, jitter=lambda: 0.01)
    client.record("theme", "dark")
    assert wait_until(lambda: len(collector.counted) == 1)
    client.close()


def test_the_thread_outlives_a_fault_of_the_apps_own(
    collector: FakeCollector, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that fails in the thread is one warning; the next pass goes on."""
    monkeypatch.setattr(warn, "_warned", set())
    monkeypatch.setattr(worker, "LONGEST", 0.05)
    clock = FakeClock()
    client = device(transport=collector, background=True, upload_interval=0.2, clock=clock)
    assert client.record("theme", "dark").recorded
    clock.now = clock.now.replace(tzinfo=None)
    assert wait_until(lambda: bool(caplog.records))
    clock.now = clock.now.replace(tzinfo=UTC)
    assert wait_until(lambda: len(collector.counted) == 1)
    assert "ValueError" in caplog.text
    client.close()


def test_leaving_the_block_sends_what_waits(collector: FakeCollector) -> None:
    """A `with` block uploads at its end, however long the interval; then recording is closed."""
    with device(transport=collector, background=True, upload_interval=3600) as client:
        client.record("theme", "dark")
    assert len(collector.counted) == 1
    assert client.record("theme", "dark").status == "closed"


def test_leaving_the_block_waits_at_most_two_seconds() -> None:
    """A collector that hangs holds the app for two seconds, and loses nothing."""
    release = threading.Event()

    def hang(request: Request) -> Response:
        release.wait(20)
        return lost(request)

    client = device(transport=hang, background=True, upload_interval=3600)
    client.record("theme", "dark")
    started = time.monotonic()
    client.close()
    assert 1 < time.monotonic() - started < 3
    release.set()


def test_days_are_not_sent_in_one_breath() -> None:
    """In the background the batches of two days have a random wait between them."""
    clock, moments = FakeClock(), list[float]()
    collector = FakeCollector()

    def timed(request: Request) -> Response:
        moments.append(time.monotonic())
        return collector(request)

    client = device(
        transport=timed, background=True, upload_interval=0.4, clock=clock, jitter=lambda: 0.5
    )
    client.record("theme", "dark")
    clock.move(days=1)
    client.record("theme", "dark")
    assert wait_until(lambda: len(moments) == 2)
    assert moments[1] - moments[0] > 0.15
    client.close()


SETUP = """
import os, sys
from pathlib import Path
from tests.harness.devices import device
client = device(endpoint={url!r}, state=Path({state!r}), background=True)
"""


def run(script: str, url: str, state: Path, timeout: float = 20) -> float:
    """Run a script in a fresh interpreter, and return the seconds it took."""
    text = SETUP.format(url=url, state=str(state)) + script
    started = time.monotonic()
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text, url], check=True, timeout=timeout, cwd=ROOT
    )
    return time.monotonic() - started


def test_an_app_that_just_ends_has_sent_its_reports(
    url: str, collector: FakeCollector, tmp_path: Path
) -> None:
    """Without close or flush, the exit sends what waits."""
    run("client.record('theme', 'dark')", url, tmp_path / "state")
    assert len(collector.counted) == 1


def test_an_exit_with_no_collector_is_quick_and_loses_nothing(tmp_path: Path) -> None:
    """With nobody listening the exit is immediate, and the report waits for the next run."""
    with serving(lambda handler, request: None) as url:
        pass
    assert run("client.record('theme', 'dark')", url, tmp_path / "state") < 5
    client = device(state=tmp_path / "state")
    assert client.status().waiting == 1
    client.close()


def test_an_exit_from_a_hanging_collector_keeps_the_deadline(tmp_path: Path) -> None:
    """Three clients whose collector hangs share two seconds."""
    release = threading.Event()
    script = """
others = [device(endpoint=sys.argv[1], background=True) for _ in range(2)]
for each in (client, *others):
    assert each.record('theme', 'dark').recorded
"""
    with serving(lambda handler, request: release.wait(20)) as url:
        assert run(script, url, tmp_path / "state") < 5
        release.set()


def test_a_fork_loses_nothing_and_repeats_nothing(
    url: str, collector: FakeCollector, tmp_path: Path
) -> None:
    """One report before a fork, five by the child, one by the parent: seven arrive, none twice, and
    neither hangs (QU-02).
    """
    script = """
client.record('theme', 'dark')
pid = os.fork()
if pid == 0:
    for _ in range(5):
        assert client.record('theme', 'dark').recorded
    sys.exit(0)
assert client.record('theme', 'dark').recorded
assert os.waitpid(pid, 0)[1] == 0
"""
    for repeat in range(3):
        collector.counted.clear()
        collector.requests.clear()
        run(script, url, tmp_path / f"state-{repeat}")
        assert len(collector.counted) == 7
        assert sum(len(batch["reports"]) for batch in collector.batches) == 7


def test_a_child_uploads_by_itself(url: str, collector: FakeCollector, tmp_path: Path) -> None:
    """A child whose parent had an upload thread gets one of its own (QU-02)."""
    script = """
client.record('theme', 'dark')
pid = os.fork()
if pid == 0:
    client.record('theme', 'dark')
    sys.exit(0)
os.waitpid(pid, 0)
os._exit(0)
"""
    run(script, url, tmp_path / "state")
    assert len(collector.counted) == 2


def test_a_child_that_ends_at_once_has_lost_nothing(
    url: str, collector: FakeCollector, tmp_path: Path
) -> None:
    """What a child recorded before `os._exit` is sent by its parent."""
    script = """
pid = os.fork()
if pid == 0:
    client.record('theme', 'dark')
    os._exit(0)
os.waitpid(pid, 0)
client.record('theme', 'dark')
"""
    run(script, url, tmp_path / "state")
    assert len(collector.counted) == 2


def test_a_fork_amid_threads_that_record_never_hangs(
    url: str, collector: FakeCollector, tmp_path: Path
) -> None:
    """While threads record, children forked one after another record too, and all end."""
    script = """
import threading
stop = threading.Event()
def keep_recording():
    while not stop.is_set():
        client.record('theme', 'dark')
threads = [threading.Thread(target=keep_recording) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        while client.record('theme', 'dark').status == 'busy':
            pass
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
waiting = client.status().waiting
client.consent.deny()
"""
    run(script, url, tmp_path / "state", timeout=60)


def test_forked_children_have_noise_of_their_own(tmp_path: Path) -> None:
    """Two children that record the same value make different reports and ids."""
    script = """
from tests.harness.devices import RAPPOR, registry_with
registry = registry_with({'browser': RAPPOR}, daily_epsilon=1000)
client = device(registry, endpoint=None, state=Path({state!r}))
client.record('browser', 'x')
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        for _ in range(10):
            client.record('browser', 'x')
        os._exit(0)
    os.waitpid(pid, 0)
""".replace("{state!r}", repr(str(tmp_path / "noise")))
    run(script, "http://collector.invalid", tmp_path / "state")
    client = device(state=tmp_path / "noise", granted=False)
    reports = [item.report for item in client.waiting()]
    assert len({report.id for report in reports}) == 21
    # Twenty 32-bit answers of which no two in a row agree by chance but once in 10^6 runs.
    halves = [tuple(report.payload for report in reports[at : at + 10]) for at in (1, 11)]
    assert halves[0] != halves[1]
    client.close()


def test_flush_serves_an_event_loop(collector: FakeCollector) -> None:
    """`aflush` uploads while the loop goes on."""
    import asyncio

    async def use(client: Client) -> int:
        assert client.record("theme", "dark").recorded
        return (await client.aflush()).accepted

    assert asyncio.run(use(device(transport=collector))) == 1
