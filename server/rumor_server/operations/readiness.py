"""Readiness of one process: whether a report could be committed now, asked once for all who ask."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait

from rumor_server.errors import StoreError, StoreUnavailable, log_fault

# An answer is good for so long: a balancer's and Prometheus' questions cost a check a second.
FRESH_SECONDS = 1.0
# A commit waits 5 s for others; who gets no answer in that time could not have counted a report.
ANSWER_SECONDS = 6.0

log = logging.getLogger(__name__)


class Readiness:
    """Runs `check`, which raises StoreError, on a thread of its own, one at a time.

    A check that hangs leaves others no thread short, and everyone is told within `ANSWER_SECONDS`.
    """

    def __init__(
        self, check: Callable[[], None], seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._check = check
        self._seconds = seconds
        self._lock = threading.Lock()
        self._latest: Future[None] | None = None
        self._ended = float("-inf")

    async def check(self) -> None:
        """Return if a report could be committed now. Raises StoreError."""
        asked = self._ask()
        if not asked.done():
            await asyncio.wait([asyncio.wrap_future(_copied(asked))], timeout=ANSWER_SECONDS)
        _outcome_of(asked)

    def is_ready(self) -> bool:
        """Return whether a report could be committed now; for a thread, not the event loop."""
        asked = self._ask()
        wait([asked], ANSWER_SECONDS)
        return asked.done() and asked.exception() is None

    def _ask(self) -> Future[None]:
        """Return the check that runs, or the last one while it is fresh, or a new one."""
        with self._lock:
            is_fresh = self._seconds() - self._ended <= FRESH_SECONDS
            if self._latest is not None and (not self._latest.done() or is_fresh):
                return self._latest
            self._latest = Future()
            # A daemon: a check that hangs must not keep the process from ending.
            threading.Thread(target=self._run, args=(self._latest,), daemon=True).start()
            return self._latest

    def _run(self, asked: Future[None]) -> None:
        try:
            self._check()
        except StoreError as error:
            outcome: Exception | None = error
            log.warning("not ready: %s", error)
        except Exception as error:
            outcome = StoreUnavailable("readiness can't be told")
            log_fault(log, "the check of readiness", error)
        else:
            outcome = None
        self._ended = self._seconds()
        if outcome is None:
            asked.set_result(None)
        else:
            asked.set_exception(outcome)


def _copied(asked: Future[None]) -> Future[None]:
    """Return a future that ends with another, so that who stops waiting cancels nothing of it."""
    copy: Future[None] = Future()

    def end(_: Future[None]) -> None:
        if copy.set_running_or_notify_cancel():
            copy.set_result(None)

    asked.add_done_callback(end)
    return copy


def _outcome_of(asked: Future[None]) -> None:
    if not asked.done():
        raise StoreUnavailable(f"the database did not answer within {ANSWER_SECONDS:g} s")
    error = asked.exception()
    if isinstance(error, StoreError):
        raise error
