"""The one thread of a process that writes, and the bounded queue before it.

It drains what waits, commits it in one transaction, and only then resolves what the requests
await: a verdict is never ahead of the disk. While one commit syncs, the next group gathers, so the
cost of a sync is shared by all that waited for it.

What the event loop takes in within one of its rounds is handed over at once, at the round's end: a
writer that is woken by the first of them would commit it alone, and fight the loop for the
interpreter while the others come in.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from rumor_server.errors import (
    DiskAlmostFull,
    Overloaded,
    StoreError,
    StoreUnavailable,
    log_fault,
)
from rumor_server.ingestion.retraction import RetractionResult, Retractions
from rumor_server.ingestion.screening import Result, ScreenedBatch
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.store import Store

# A group this large takes some 50 ms to write: larger ones save nothing and delay the rest.
GROUP_REPORTS = 5_000
# What was committed or deleted is folded out of the write-ahead file so long after the last commit,
# and under load so long after the first: after each it would cost a report .3 to 1 ms, with tails
# of 24.
IDLE_SECONDS = 1.0
LOADED_SECONDS = 5.0
# What an overloaded client waits; the queue is a second's work, and jitter is the client's.
RETRY_SECONDS = 2

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    """Something to do, and the future that someone awaits on the event loop."""

    work: ScreenedBatch | Retractions | Callable[[Store], Any]
    future: asyncio.Future[Any]
    weight: int


class Writer:
    """Commits batches for a store on one thread, in groups, in the order of arrival.

    At most `queue_reports` small reports wait, and fewer large ones. With `disk`, a directory,
    nothing is written while less than `reserve_bytes` are free there. With `receipts`, a
    retraction is answered once its receipt is kept.
    """

    def __init__(
        self,
        store: Store,
        *,
        queue_reports: int,
        disk: Path | None = None,
        reserve_bytes: int = 0,
        receipts: Receipts | None = None,
    ) -> None:
        self._store = store
        self._receipts = receipts
        self._queue_reports = queue_reports
        self._disk = disk
        self._reserve_bytes = reserve_bytes
        # Guards what submits and ends touch: all that was gathered is handed over before the end.
        self._lock = threading.Lock()
        self._closing = False
        self._gathered: list[_Waiting] = []
        self._handed: SimpleQueue[list[_Waiting] | None] = SimpleQueue()
        # The weight of all that was ever queued, and of all taken: what waits is their difference.
        # Each side adds to its own alone, so neither waits for the other.
        self._queued = 0
        self._taken = 0
        # The thread's own: what it was handed and has not taken, and whether more will come.
        self._waiting: deque[_Waiting] = deque()
        self._is_last = False
        # When the first and the last commit were that no erasure followed; a process that was
        # killed left some.
        self._unerased: tuple[float, float] | None = (0.0, 0.0)
        self._erasure_pending = False
        self._thread = threading.Thread(target=self._run, name="rumor-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs and takes more work."""
        return self._thread.is_alive() and not self._closing

    @property
    def erasure_pending(self) -> bool:
        """Whether another's reading keeps what was deleted in the write-ahead file."""
        return self._erasure_pending

    def check_writable(self) -> None:
        """Return if a report could be committed now. Raises StoreError."""
        if not self.alive:
            raise StoreUnavailable("the writer has stopped")
        self._check_disk()
        self._store.check_writable()

    async def submit(self, batch: ScreenedBatch) -> list[Result]:
        """Return a result for each report of `batch`, after they are durable.

        Raises Overloaded if too many wait already, StoreError if the commit failed.
        """
        results: list[Result] = await self._enqueue(batch, batch.weight)
        return results

    async def retract(self, batch: Retractions) -> list[RetractionResult]:
        """Return a result for each retraction of `batch`, after they and receipts are durable.

        Raises as `submit` does.
        """
        results: list[RetractionResult] = await self._enqueue(batch, batch.weight)
        return results

    async def call(self, work: Callable[[Store], Any], weight: int = 0) -> Any:
        """Return what `work` returns for the store, on the writer's thread, between two groups.

        Raises Overloaded if too much waits to take `weight` more, and what `work` raises.
        """
        return await self._enqueue(work, weight)

    def close(self, seconds: float) -> bool:
        """Write what waits, then stop. Returns whether that took no more than `seconds`."""
        with self._lock:
            self._closing = True
            self._handed.put(self._gathered)
            self._gathered = []
            self._handed.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _enqueue(
        self, work: ScreenedBatch | Retractions | Callable[[Store], Any], weight: int
    ) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        with self._lock:
            if self._closing or self._queued - self._taken + weight > self._queue_reports:
                raise Overloaded(RETRY_SECONDS)
            self._queued += weight
            if not self._gathered:
                loop.call_soon(self._hand_over)
            self._gathered.append(_Waiting(work, future, weight))
        return future

    def _hand_over(self) -> None:
        with self._lock:
            if self._gathered:
                self._handed.put(self._gathered)
                self._gathered = []

    def _run(self) -> None:
        while group := self._next_group():
            outcomes = self._do(group)
            _resolve(group[0].future.get_loop(), zip(group, outcomes, strict=True))
            now = time.monotonic()
            self._unerased = (self._unerased[0] if self._unerased else now, now)
            if now - self._unerased[0] > LOADED_SECONDS:
                self._erase()
        if self._unerased:
            self._erase()

    def _next_group(self) -> list[_Waiting]:
        """Wait for work; return one call, or all of one kind up to another; nothing to stop."""
        self._receive()
        group: list[_Waiting] = []
        weight = 0
        while self._waiting and weight < GROUP_REPORTS:
            kind = type(self._waiting[0].work)
            if group and type(group[0].work) is not kind:
                break
            group.append(self._waiting.popleft())
            weight += group[-1].weight
            if kind not in {ScreenedBatch, Retractions}:
                break
        self._taken += weight
        return group

    def _receive(self) -> None:
        """Take all that was handed over; wait until there is work, or until none will come."""
        while not self._is_last:
            try:
                handed = self._handed.get(block=not self._waiting, timeout=self._idle_seconds())
            except Empty:
                if self._waiting:
                    return
                self._erase()
                continue
            if handed is None:
                self._is_last = True
            else:
                self._waiting.extend(handed)

    def _idle_seconds(self) -> float | None:
        """Return how long to wait for work before the erasure, None with nothing to erase."""
        if self._unerased is None:
            return None
        return max(0.0, self._unerased[1] + IDLE_SECONDS - time.monotonic())

    def _erase(self) -> None:
        """Have what was deleted overwritten; where that fails, try again after the same time."""
        was_pending = self._erasure_pending
        try:
            self._erasure_pending = not self._store.erase()
        except Exception as error:
            _as_answer(error)
            self._erasure_pending = True
        now = time.monotonic()
        self._unerased = (now, now) if self._erasure_pending else None
        if self._erasure_pending and not was_pending:
            log.warning("erasure pending: another program reads the database")
        elif was_pending and not self._erasure_pending:
            log.info("what was deleted is overwritten")

    def _do(self, group: list[_Waiting]) -> list[Any]:
        """Return a result or an exception for each of a group."""
        work = group[0].work
        try:
            if callable(work):
                return [work(self._store)]
            self._check_disk()
            if isinstance(work, Retractions):
                return list(self._retract([w.work for w in group]))  # type: ignore[misc]
            return list(self._store.commit([w.work for w in group]))  # type: ignore[misc]
        except Exception as error:
            if len(group) == 1 or isinstance(error, StoreError):
                return [_as_answer(error)] * len(group)
            # One batch may be at fault. Ids make it safe to write again what may be written.
            return [outcome for waiting in group for outcome in self._do([waiting])]

    def _retract(self, batches: Sequence[Retractions]) -> list[list[RetractionResult]]:
        # A crash before the receipts leaves a retraction that nobody was told of; sent again, it
        # hears `already` and its receipt is written then.
        withdrawal = self._store.retract(batches)
        if self._receipts is not None:
            self._receipts.append(withdrawal.receipts)
        return withdrawal.results

    def _check_disk(self) -> None:
        if self._disk is None:
            return
        free = shutil.disk_usage(self._disk).free
        if free < self._reserve_bytes:
            raise DiskAlmostFull(free, self._reserve_bytes)


def _as_answer(error: Exception) -> Exception:
    if isinstance(error, StoreError):
        log.warning("not done: %s", error)
    else:
        log_fault(log, "a batch", error)
    return error


def _resolve(loop: asyncio.AbstractEventLoop, outcomes: Iterable[tuple[_Waiting, Any]]) -> None:
    done = list(outcomes)

    def resolve() -> None:
        for waiting, outcome in done:
            if waiting.future.done():
                continue
            if isinstance(outcome, Exception):
                waiting.future.set_exception(outcome)
            else:
                waiting.future.set_result(outcome)

    try:
        loop.call_soon_threadsafe(resolve)
    except RuntimeError:
        log.warning("the server stopped before %d answers could be sent", len(done))
