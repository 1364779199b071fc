"""Questions to a database that may be silent: readiness, and figures of it.

A question has a thread of its own, one at a time however many ask, and everyone is told within
`ANSWER_SECONDS`: what hangs leaves others no thread short, and keeps no process from ending.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

from rumor_server.errors import StoreError, StoreUnavailable, log_fault

# An answer about readiness is good for so long: a balancer's and Prometheus' questions cost a check
# a second.
FRESH_SECONDS = 1.0
# A commit waits 5 s for others; who gets no answer in that time could not have counted a report.
ANSWER_SECONDS = 6.0

T = TypeVar("T")
V = TypeVar("V")

log = logging.getLogger(__name__)


class Question(Generic[T]):
    """A question that `ask` answers or refuses with StoreError; good for `fresh` seconds."""

    def __init__(
        self,
        ask: Callable[[], T],
        fresh: float = 0.0,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._fresh = fresh
        self._seconds = seconds
        self._lock = threading.Lock()
        self._latest: Future[T] | None = None
        self._ended = float("-inf")

    def begin(self) -> Future[T]:
        """Return the answer that is awaited, or the last one while it is fresh, or a new one."""
        with self._lock:
            is_fresh = self._seconds() - self._ended < self._fresh
            if self._latest is not None and (not self._latest.done() or is_fresh):
                return self._latest
            self._latest = Future()
            threading.Thread(target=self._run, args=(self._latest,), daemon=True).start()
            return self._latest

    def answer(self, within: float | None = None) -> T:
        """Return the answer; for a thread, not the event loop. Raises StoreError."""
        asked = self.begin()
        wait([asked], ANSWER_SECONDS if within is None else within)
        return _outcome_of(asked)

    async def answered(self) -> T:
        """Return the answer. Raises StoreError."""
        asked = self.begin()
        if not asked.done():
            await asyncio.wait([asyncio.wrap_future(_copied(asked))], timeout=ANSWER_SECONDS)
        return _outcome_of(asked)

    def _run(self, asked: Future[T]) -> None:
        try:
            found = self._ask()
        except StoreError as error:
            log.warning("%s", error)
            self._end(asked.set_exception, error)
        except Exception as error:
            log_fault(log, "a question to the database", error)
            self._end(asked.set_exception, StoreUnavailable("the database can't be asked"))
        else:
            self._end(asked.set_result, found)

    def _end(self, tell: Callable[[V], object], outcome: V) -> None:
        self._ended = self._seconds()
        tell(outcome)


class Readiness:
    """Whether a report could be committed now: what `check`, which raises StoreError, says."""

    def __init__(
        self, check: Callable[[], None], seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._question = Question(check, FRESH_SECONDS, seconds)

    async def check(self) -> None:
        """Return if a report could be committed now. Raises StoreError."""
        await self._question.answered()

    def is_ready(self) -> bool:
        """Return whether a report could be committed now; for a thread, not the event loop."""
        try:
            self._question.answer()
        except StoreError:
            return False
        return True


def _copied(asked: Future[T]) -> Future[None]:
    """Return a future that ends with another, so that who stops waiting cancels nothing of it."""
    copy: Future[None] = Future()

    def end(_: Future[T]) -> None:
        if copy.set_running_or_notify_cancel():
            copy.set_result(None)

    asked.add_done_callback(end)
    return copy


def _outcome_of(asked: Future[T]) -> T:
    if not asked.done():
        raise StoreUnavailable(f"the database did not answer within {ANSWER_SECONDS:g} s")
    return asked.result()
