"""How much a key may still do: exact over all processes, and cheap in each.

A process takes a share of a key's limit from the database at a time and spends it from memory, so
the sum over processes never passes the limit, through restarts too. What a killed process held is
lost to its key until the minute or day ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from rumor_server.errors import TooManyRequests
from rumor_server.operations.keyring import Key
from rumor_server.storage.operator_tables import Control

# A process takes a twentieth of a limit: 20 transactions use it up, and 4 processes strand at most
# a fifth of it.
_SHARES = 20
_MINUTE = 60
# The client waits an hour at most (design, section 7), so a day's limit is asked for hourly.
_LONGEST_WAIT = 3600


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


class KeyLimits:
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
        """Delete what belongs to minutes and days that are over."""
        with self._control.transaction() as statements:
            for kind in Kind:
                statements.run(
                    "DELETE FROM control_leases WHERE kind = ? AND minute_or_day < ?",
                    (kind.value, self._window(kind)),
                )

    def close(self) -> None:
        """Give the database back what was taken and not spent."""
        with self._control.transaction() as statements:
            for (id_, kind), share in sorted(self._shares.items()):
                statements.run(
                    "UPDATE control_leases SET taken = taken - ? "
                    "WHERE id = ? AND kind = ? AND minute_or_day = ?",
                    (share.left, id_, kind.value, share.window),
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
            granted = await asyncio.to_thread(self._lease, id_, kind, window, limit, wanted)
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

    def _lease(self, id_: str, kind: Kind, window: int, limit: int, wanted: int) -> int:
        place = (id_, kind.value, window)
        with self._control.transaction() as statements:
            statements.run(
                "INSERT INTO control_leases VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING", place
            )
            # Changes nothing, and holds the row until the commit, on PostgreSQL too.
            ((taken,),) = statements.rows(
                "UPDATE control_leases SET taken = taken "
                "WHERE id = ? AND kind = ? AND minute_or_day = ? RETURNING taken",
                place,
            )
            granted: int = max(0, min(wanted, limit - taken))
            statements.run(
                "UPDATE control_leases SET taken = taken + ? "
                "WHERE id = ? AND kind = ? AND minute_or_day = ?",
                (granted, *place),
            )
        return granted
