"""What happens to a store by itself: days past their age are closed, and deltas compacted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import partial

from rumor_server.errors import Overloaded, StoreError
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.store import SLICE_ROWS, Store
from rumor_server.storage.writer import Writer

# What a commit appended is folded within this time, and a moment more on a busy server.
COMPACT_SECONDS = 10
# Closing can't be undone. A clock that is suddenly further ahead is not believed at once: whoever
# reads the log has a day to set it right.
STEP_DAYS = 2
HOLD_SECONDS = 86_400
_STEP = timedelta(days=STEP_DAYS)

log = logging.getLogger(__name__)


class Hold:
    """Postpones the closing of several days at once, which a clock far ahead would ask for.

    As long as it does, no report is refused for good: `in_doubt` says so to the doors.

    A collector that was off for some days meets it too, and closes a day later. Not so one whose
    `max_age_days` was lowered: devices report of today, so the clock is right.
    """

    def __init__(
        self,
        max_age_days: int,
        closed: date = date.min,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_age_days = max_age_days
        self._closed = closed
        self._monotonic = monotonic
        self._until: float | None = None

    def through(self, day: date) -> date:
        """Return the last day that is to be closed when the clock shows `day`."""
        return day - timedelta(days=self.max_age_days + 1)

    def in_doubt(self, day: date) -> bool:
        """Return whether a clock that shows `day` may be wrong: days wait to be closed by it."""
        return self._closed != date.min and self.through(day) - self._closed > _STEP

    def note_closed(self, closed: date) -> None:
        """Remember the last closed day."""
        self._closed = closed

    def holds(
        self, closed: date, through: date, devices_agree: Callable[[], bool] = lambda: False
    ) -> bool:
        """Return whether days after `closed` must not be closed up to `through` yet.

        `devices_agree` says whether what was counted last speaks for the clock; it is asked only
        where the clock is in doubt.
        """
        is_step = closed == date.min or through - closed <= _STEP
        if is_step or (self._until is None and devices_agree()):
            self._until = None
            return False
        if self._until is None:
            self._until = self._monotonic() + HOLD_SECONDS
            log.error(
                "the clock says that %d days are over at once; they are closed in %d hours "
                "unless it is set right",
                (through - closed).days,
                HOLD_SECONDS // 3600,
            )
        return self._monotonic() < self._until


async def close_old_days(
    writer: Writer,
    receipts: Receipts,
    today: Callable[[], date],
    hold: Hold,
    seconds: float,
    metrics: Sequence[str] = (),
) -> None:
    """Close what is past its age, now and every so many `seconds`, until cancelled.

    What is remembered of closed days is deleted in slices, between which reports are committed.
    """
    while True:
        day = today()
        try:
            agree = partial(_reported_of, day, metrics)
            closed = await writer.call(partial(_close, hold.through(day), receipts, hold, agree))
            while await writer.call(_forget_slice):
                pass
            log.info("days are closed through %s", closed)
        except (StoreError, Overloaded) as error:
            log.warning("days were not closed: %s", error)
        await asyncio.sleep(seconds)


async def compact_deltas(writer: Writer, seconds: float = COMPACT_SECONDS) -> None:
    """Fold appended deltas into tallies every so many `seconds`, until cancelled."""
    while True:
        try:
            await writer.call(_compact)
        except (StoreError, Overloaded) as error:
            log.warning("tallies were not compacted: %s", error)
        await asyncio.sleep(seconds)


def _reported_of(day: date, metrics: Sequence[str], store: Store) -> bool:
    """Return whether a report of about this day was counted: a device's clock says the same."""
    newest = (days[1] for name in metrics if (days := store.days(name)) is not None)
    return max(newest, default=date.min) >= day - timedelta(days=STEP_DAYS)


def _close(
    through: date,
    receipts: Receipts,
    hold: Hold,
    devices_agree: Callable[[Store], bool],
    store: Store,
) -> date:
    closed = store.close_days(date.min)
    if not hold.holds(closed, through, lambda: devices_agree(store)):
        closed = store.close_days(through)
        receipts.forget(closed)
    hold.note_closed(closed)
    return closed


def _forget_slice(store: Store) -> bool:
    return store.forget_closed(SLICE_ROWS)


def _compact(store: Store) -> int:
    return store.compact()
