"""Quotas of keys: how much one may still do, exact over all processes, and cheap in each.

A process takes a share of a key's limit from the database at a time and spends it from memory, so
the sum over processes never passes the limit, through restarts too. What a killed process held is
lost to its key until the minute or day ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from rumor_server.errors import TooManyRequests
from rumor_server.http.counters import Counters
from rumor_server.ingestion.retraction import RetractionResult, Retractions
from rumor_server.ingestion.screening import Result, ScreenedBatch
from rumor_server.storage.keys import Key, forget_old_leases, give_back, lease
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.writer import Writer
from rumor_shared.wire import Retraction, Verdict

# A process takes a twentieth of a limit: 20 transactions use it up, and 4 processes strand at most
# a fifth of it.
_SHARES = 20
_MINUTE = 60
# The client waits an hour at most (design, section 7), so a day's limit is asked for hourly.
_LONGEST_WAIT = 3600

# The key of the request that is being answered, for limits that are known only once it is read.
current_key: ContextVar[Key | None] = ContextVar("current_key", default=None)


class Kind(StrEnum):
    """What is limited: requests by the minute, accepted reports by the UTC day."""

    REQUESTS = "requests"
    REPORTS = "reports"


@dataclass(slots=True)
class _Share:
    """What this process may still spend in one minute or day, and whether the database has more."""

    window: int
    left: int = 0
    exhausted: bool = False


class KeyQuotas:
    """The limits of keys, shared with every process on the same database."""

    def __init__(
        self,
        control: Control,
        today: Callable[[], date],
        seconds: Callable[[], float] = time.time,
    ) -> None:
        self._control = control
        self._today = today
        self._seconds = seconds
        self._shares: dict[tuple[str, Kind], _Share] = {}
        self._lock = asyncio.Lock()

    async def take_request(self, key: Key) -> None:
        """Spend one request of this minute. Raises TooManyRequests."""
        if not await self._take(key.id, Kind.REQUESTS, key.minute_requests, 1):
            wait = _MINUTE - int(self._seconds()) % _MINUTE
            raise TooManyRequests("this key's number of requests a minute", wait)

    async def take_reports(self, key: Key, reports: int) -> None:
        """Spend reports of this day. Raises TooManyRequests if that many are not left."""
        if not await self._take(key.id, Kind.REPORTS, key.day_reports, reports):
            raise TooManyRequests("this key's number of reports a day", _LONGEST_WAIT)

    def give_back_reports(self, key: Key, reports: int) -> None:
        """Take back what `take_reports` spent for reports that were not accepted."""
        share = self._shares.get((key.id, Kind.REPORTS))
        if share is not None and share.window == self._window(Kind.REPORTS):
            share.left += reports

    def forget_past(self) -> None:
        """Delete what belongs to minutes and days long over."""
        forget_old_leases(self._control)

    def close(self) -> None:
        """Give the database back what was taken and not spent."""
        give_back(
            self._control,
            [
                (id_, kind.value, share.window, share.left)
                for (id_, kind), share in self._shares.items()
            ],
        )
        self._shares.clear()

    def _window(self, kind: Kind) -> int:
        if kind is Kind.REQUESTS:
            return int(self._seconds() // _MINUTE)
        return self._today().toordinal()

    async def _take(self, id_: str, kind: Kind, limit: int, amount: int) -> bool:
        if not limit:
            return True
        if self._spend(id_, kind, amount):
            return True
        async with self._lock:
            share = self._shares[id_, kind]
            if self._spend(id_, kind, amount):
                return True
            if share.exhausted:
                return False
            wanted = max(amount - share.left, limit // _SHARES)
            window = share.window
            granted = await asyncio.to_thread(
                lease, self._control, id_, kind.value, window, limit, wanted
            )
            if share.window == window:
                share.left += granted
                share.exhausted = granted < wanted
            return self._spend(id_, kind, amount)

    def _spend(self, id_: str, kind: Kind, amount: int) -> bool:
        window = self._window(kind)
        share = self._shares.get((id_, kind))
        if share is None or share.window != window:
            share = self._shares[id_, kind] = _Share(window)
        if share.left < amount:
            return False
        share.left -= amount
        return True


class MeteredWriter:
    """Submits batches to the writer within the day's quota of the key that sent them.

    `observe` sees each batch with what was decided of it.
    """

    def __init__(
        self,
        writer: Writer,
        quotas: KeyQuotas,
        counters: Counters,
        observe: Callable[[ScreenedBatch, Sequence[Result]], None],
        today: Callable[[], date],
    ) -> None:
        self._writer = writer
        self._quotas = quotas
        self._counters = counters
        self._observe = observe
        self._today = today

    async def submit(self, batch: ScreenedBatch) -> list[Result]:
        """Return a result for each report, after they are durable.

        A report that isn't accepted costs its key nothing. Raises TooManyRequests, before anything
        is written, if the key may not send so many today; and what the writer raises.
        """
        key = current_key.get()
        reports = len(batch.reports)
        if key is not None:
            await self._quotas.take_reports(key, reports)
        results: list[Result] = []
        try:
            with self._counters.waiting(reports):
                results = await self._writer.submit(batch)
        finally:
            if key is not None and key.day_reports:
                accepted = sum(result.verdict is Verdict.ACCEPTED for result in results)
                self._quotas.give_back_reports(key, reports - accepted)
        self._counters.results(batch.day, self._today(), results)
        self._observe(batch, results)
        return results

    async def retract(self, batch: Retractions) -> list[RetractionResult]:
        """Return a result for each retraction, after they are durable.

        One of a report that was not counted takes its place in the key's quota: it sets a
        tombstone. Raises as `submit` does.
        """
        key = current_key.get()
        if key is not None:
            await self._quotas.take_reports(key, len(batch.reports))
        results: list[RetractionResult] = []
        try:
            results = await self._writer.retract(batch)
        finally:
            if key is not None and key.day_reports:
                unknown = sum(one.verdict is Retraction.NOT_COUNTED_YET for one in results)
                self._quotas.give_back_reports(key, len(batch.reports) - unknown)
        return results
