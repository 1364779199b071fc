"""The writer: groups, bounds, faults, and an end that loses nothing."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from rumor_server.errors import DiskAlmostFull, Overloaded, StoreError, StoreUnavailable
from rumor_server.ingestion.batch import Report
from rumor_server.ingestion.screening import Result, ScreenedBatch
from rumor_server.storage import writer as writer_module
from rumor_server.storage.store import Store
from rumor_server.storage.writer import Writer
from rumor_shared.wire import Verdict

ACCEPTED = Result(Verdict.ACCEPTED)
RETRY = Result(Verdict.RETRY)


def screened(reports: int = 1, id_: bytes = b"") -> ScreenedBatch:
    """A batch of so many reports, already decided."""
    one = Report(id_, "m", 1, 0, b"")
    return ScreenedBatch(date(2026, 11, 30), b"", [one] * reports, [RETRY] * reports)


class Gate:
    """A store that commits when it is let, and remembers the groups it was given."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.open = threading.Event()
        self.entered = threading.Event()
        self.fault: Callable[[Sequence[ScreenedBatch]], None] = lambda _: None
        self.erased: list[float] = []
        self.read = False

    def commit(self, batches: Sequence[ScreenedBatch]) -> list[list[Result]]:
        """Accept everything, once the gate is open."""
        self.entered.set()
        assert self.open.wait(10)
        self.groups.append(len(batches))
        self.fault(batches)
        return [[ACCEPTED] * len(batch.reports) for batch in batches]

    def erase(self) -> bool:
        """Overwrite what was deleted, unless someone reads."""
        self.erased.append(time.monotonic())
        return not self.read


def played(
    play: Callable[[Writer, Gate], Awaitable[None]], store: Gate | None = None, **options: Any
) -> Gate:
    """Run a scene with a writer on a gate, and end the writer."""
    gate = store or Gate()

    async def scene() -> None:
        writer = Writer(cast(Store, gate), **{"queue_reports": 1000, **options})
        writer.start()
        try:
            await play(writer, gate)
        finally:
            gate.open.set()
            assert await asyncio.to_thread(writer.close, 10)

    asyncio.run(scene())
    return gate


async def entered(gate: Gate) -> None:
    """Wait until the writer is within a commit."""
    await asyncio.to_thread(gate.entered.wait, 10)


def test_gathers_what_waits_into_one_commit() -> None:
    """While one commit syncs, 50 batches gather, and the next commit takes them all."""

    async def play(writer: Writer, gate: Gate) -> None:
        first = asyncio.ensure_future(writer.submit(screened()))
        await entered(gate)
        rest = [asyncio.ensure_future(writer.submit(screened(2))) for _ in range(50)]
        await asyncio.sleep(0)
        assert not first.done()
        gate.open.set()
        assert await first == [ACCEPTED]
        assert await asyncio.gather(*rest) == [[ACCEPTED] * 2] * 50

    assert played(play).groups == [1, 50]


def test_hands_over_a_round_of_the_loop_at_once() -> None:
    """What the event loop takes in within one round is one commit, however idle the writer is."""

    async def play(writer: Writer, gate: Gate) -> None:
        gate.open.set()
        # The three run in one round; the one between gives the writer time to take the first alone.
        first = asyncio.ensure_future(writer.submit(screened()))
        asyncio.get_running_loop().call_soon(lambda: taken.append(gate.entered.wait(0.1)))
        second = asyncio.ensure_future(writer.submit(screened()))
        assert list(await asyncio.gather(first, second)) == [[ACCEPTED]] * 2

    taken: list[bool] = []
    assert played(play).groups == [2]
    assert taken == [False]


def test_writes_what_was_not_handed_over_yet() -> None:
    """Told to end within the round in which a batch came, the writer writes it all the same."""

    async def play(writer: Writer, gate: Gate) -> None:
        gate.open.set()
        sent = asyncio.ensure_future(writer.submit(screened()))
        # The task submits in this round, and the loop is held until the writer has ended.
        asyncio.get_running_loop().call_soon(lambda: ended.append(writer.close(10)))
        assert await sent == [ACCEPTED]

    ended: list[bool] = []
    assert played(play).groups == [1]
    assert ended == [True]


def test_refuses_more_than_the_queue_holds() -> None:
    """What passes the bound is refused at once, with a time to come back; the rest is written."""

    async def play(writer: Writer, gate: Gate) -> None:
        first = asyncio.ensure_future(writer.submit(screened()))
        await entered(gate)
        waiting = asyncio.ensure_future(writer.submit(screened(1000)))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as caught:
            await writer.submit(screened())
        assert caught.value.retry_after >= 1
        gate.open.set()
        await asyncio.gather(first, waiting)
        assert await writer.submit(screened()) == [ACCEPTED]

    played(play)


def test_weighs_what_waits() -> None:
    """Large payloads fill the queue sooner: the bound is one of memory."""
    one = Report(b"", "m", 1, 0, bytes(65_536))
    assert ScreenedBatch(date(2026, 11, 30), b"", [one] * 2, [RETRY] * 2).weight == 130
    assert screened(500).weight == 500


@pytest.mark.parametrize("error", [StoreUnavailable("x"), StoreError("x")])
def test_tells_all_of_a_failed_commit(error: Exception) -> None:
    """Where the database fails, everyone in the group hears of it, and the next group is tried."""

    async def play(writer: Writer, gate: Gate) -> None:
        def fail(_: Sequence[ScreenedBatch]) -> None:
            raise error

        gate.fault = fail
        sent = [asyncio.ensure_future(writer.submit(screened())) for _ in range(3)]
        gate.open.set()
        for outcome in await asyncio.gather(*sent, return_exceptions=True):
            assert outcome is error
        gate.fault = lambda _: None
        assert await writer.submit(screened()) == [ACCEPTED]

    played(play)


def test_isolates_a_batch_at_fault() -> None:
    """A batch that the code fails on takes none of its neighbours with it."""

    async def play(writer: Writer, gate: Gate) -> None:
        def fail(batches: Sequence[ScreenedBatch]) -> None:
            if any(one.id == b"poison" for batch in batches for one in batch.reports):
                raise ZeroDivisionError

        gate.fault = fail
        first = asyncio.ensure_future(writer.submit(screened()))
        await entered(gate)
        ids = (b"a", b"poison", b"b")
        sent = [asyncio.ensure_future(writer.submit(screened(1, id_))) for id_ in ids]
        await asyncio.sleep(0)
        gate.open.set()
        outcomes = await asyncio.gather(first, *sent, return_exceptions=True)
        assert isinstance(outcomes.pop(2), ZeroDivisionError)
        assert outcomes == [[ACCEPTED]] * 3

    played(play)


def test_writes_what_waits_before_it_ends() -> None:
    """Told to end, the writer takes no more, and finishes what it took."""

    async def play(writer: Writer, gate: Gate) -> None:
        sent = [asyncio.ensure_future(writer.submit(screened())) for _ in range(5)]
        await entered(gate)
        ending = asyncio.create_task(asyncio.to_thread(writer.close, 10))
        while writer.alive:
            await asyncio.sleep(0.001)
        with pytest.raises(Overloaded):
            await writer.submit(screened())
        gate.open.set()
        assert await ending
        assert await asyncio.gather(*sent) == [[ACCEPTED]] * 5

    played(play)


def test_says_when_it_could_not_end_in_time() -> None:
    """A commit that hangs is not waited for longer than was asked."""

    async def play(writer: Writer, gate: Gate) -> None:
        sent = asyncio.ensure_future(writer.submit(screened()))
        await entered(gate)
        assert not await asyncio.to_thread(writer.close, 0.01)
        gate.open.set()
        await sent

    played(play)


def test_refuses_before_the_disk_is_full(tmp_path: Path) -> None:
    """With less free space than the reserve, nothing is written, and a call still runs."""

    async def play(writer: Writer, gate: Gate) -> None:
        gate.open.set()
        with pytest.raises(DiskAlmostFull) as caught:
            await writer.submit(screened())
        assert caught.value.free < caught.value.required
        assert await writer.call(lambda store: store) is gate

    assert played(play, disk=tmp_path, reserve_bytes=1 << 60).groups == []


def test_survives_a_request_that_gave_up() -> None:
    """A cancelled request's reports are written, and nobody is told."""

    async def play(writer: Writer, gate: Gate) -> None:
        sent = asyncio.ensure_future(writer.submit(screened()))
        await entered(gate)
        sent.cancel()
        gate.open.set()
        assert await writer.submit(screened()) == [ACCEPTED]
        assert sent.cancelled()

    assert sum(played(play).groups) == 2


def test_erases_when_idle_and_under_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """C-04, C-05: after a commit soon, under load at last; what a reader kept is tried again."""
    monkeypatch.setattr(writer_module, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(writer_module, "LOADED_SECONDS", 0.5)
    store = Gate()
    store.open.set()

    async def play() -> None:
        writer = Writer(cast(Store, store), queue_reports=100)
        writer.start()
        while not store.erased:  # what a killed process left
            await asyncio.sleep(0.01)
        began = time.monotonic()
        while time.monotonic() < began + 0.8:
            await writer.submit(screened())
            await asyncio.sleep(0.02)
        assert len(store.erased) == 2
        store.read = True
        while not writer.erasure_pending:
            await asyncio.sleep(0.01)
        store.read = False
        while writer.erasure_pending:
            await asyncio.sleep(0.01)
        seen = len(store.erased)
        await asyncio.sleep(0.5)
        assert len(store.erased) == seen
        writer.close(5)

    asyncio.run(asyncio.wait_for(play(), 20))
