"""Readiness: one check for all who ask, fresh for a second, told within its time."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from rumor_server.errors import StoreUnavailable
from rumor_server.operations import readiness
from rumor_server.operations.readiness import Readiness


class Checked:
    """A check that fails when it is told to, and counts."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails = False
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self) -> None:
        """Check."""
        self.calls += 1
        assert self.go_on.wait(30)
        if self.fails:
            raise StoreUnavailable("full")


def test_asks_once_for_all_within_a_second() -> None:
    """A hundred questions at a time, of Prometheus and of balancers, cost one check."""
    now = 0.0
    checked = Checked()
    ready = Readiness(checked, lambda: now)

    async def play() -> None:
        await asyncio.gather(*(ready.check() for _ in range(100)))

    asyncio.run(play())
    assert ready.is_ready()
    assert checked.calls == 1
    checked.fails = True
    now = 0.9
    assert ready.is_ready()
    now = 2.0
    assert not ready.is_ready()
    with pytest.raises(StoreUnavailable, match="full"):
        asyncio.run(ready.check())
    assert checked.calls == 2
    now, checked.fails = 4.0, False
    assert ready.is_ready()


@pytest.mark.parametrize("asks", ["process", "scrape"])
def test_a_check_that_hangs_is_told_in_its_time(asks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-08: a silent database is not ready; a question more costs no thread and no check."""
    monkeypatch.setattr(readiness, "ANSWER_SECONDS", 0.2)
    checked = Checked()
    checked.go_on.clear()
    ready = Readiness(checked)

    async def play() -> None:
        with pytest.raises(StoreUnavailable, match="did not answer"):
            await ready.check()

    questions: dict[str, Callable[[], object]] = {
        "process": lambda: asyncio.run(play()),
        "scrape": lambda: _is_not(ready),
    }
    started = time.monotonic()
    for _ in range(3):
        questions[asks]()
    assert time.monotonic() - started < 5
    assert checked.calls == 1
    checked.go_on.set()
    deadline = time.monotonic() + 10
    while not ready.is_ready():
        assert time.monotonic() < deadline


def _is_not(ready: Readiness) -> None:
    assert not ready.is_ready()


def test_a_fault_of_the_check_is_not_ready(caplog: pytest.LogCaptureFixture) -> None:
    """What no check should raise is logged without its words, and the process isn't ready."""
    secret = "".join(("SEC", "RET"))

    def broken() -> None:
        raise ValueError(secret)

    assert not Readiness(broken).is_ready()
    assert secret not in caplog.text
