"""What a history is made of: time that stands, noise that is off, a state whose process dies."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from rumor_client import MemoryState, Report, client
from rumor_client.perturbation.randomness import Randomness
from rumor_client.state.protocol import LOCK_WAIT
from rumor_client.upload import collector_api as exchange
from rumor_client.upload import retraction as forgetting
from rumor_client.upload import worker

# As many reports as a history can have waiting, and more.
MANY = 512


class Crash(BaseException):
    """The process is gone."""


class Ticks:
    """Monotonic time that passes only where someone sleeps, so that a history can be repeated."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += max(seconds, 0.001)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of the system's time in all modules that wait."""
        for module in (client, exchange, forgetting, worker):
            patch.setattr(module, "monotonic", self.monotonic)
            if hasattr(module, "sleep"):
                patch.setattr(module, "sleep", self.sleep)


class CrashingState(MemoryState):
    """A state whose process dies before or after one of its next commits.

    It keeps every report that was ever committed to the outbox, and what `forget` had answers for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[bytes, Report] = {}
        self.unlogged: set[bytes] = set()
        self.crash_in = 0
        self.after_commit = False

    @contextmanager
    def transaction(self, wait: float = LOCK_WAIT) -> Iterator[Any]:
        """As ever, but for the crash."""
        dies = self.crash_in == 1
        self.crash_in = max(0, self.crash_in - 1)
        with super().transaction(wait) as contents:
            before = contents.sent()
            yield _Watched(contents, self.unlogged)
            if dies and not self.after_commit:
                self.unlogged -= {item.report.id for item in before}
                raise Crash
            self._keep(contents)
        if dies:
            raise Crash

    def _keep(self, contents: Any) -> None:
        for item in contents.waiting(None, 0, MANY):
            known = self.made.setdefault(item.report.id, item.report)
            assert known == item.report, "the bytes of an id changed"


class _Watched:
    """A transaction whose `unlog` is noted."""

    def __init__(self, contents: Any, unlogged: set[bytes]) -> None:
        self._contents = contents
        self._unlogged = unlogged

    def __getattr__(self, name: str) -> Any:
        return getattr(self._contents, name)

    def unlog(self, ids: Collection[bytes]) -> None:
        """Remove from the log, and note which were in it."""
        self._unlogged |= set(ids) & {item.report.id for item in self._contents.sent()}
        self._contents.unlog(ids)


class Truthful:
    """Bytes for a mechanism without noise: zeros for coins, a counter for ids and secrets."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self) -> Randomness:
        """Return the source of one report."""
        return Randomness(self._read)

    def _read(self, size: int) -> bytes:
        return next(self._numbers).to_bytes(size, "big") if size >= 16 else bytes(size)
