"""Open days in steps: no two answers differ by fewer reports than a metric declares.

Two exact answers one report apart give that report: (frequency (p - q) + q) n is a whole number,
and the difference of two of them is the payload. So of a day that still takes reports analysts see
a tally that stands still, and next sees one with at least `min_new_reports` more. What is shown is
always the tally before the latest kept one: when the day closes and is shown whole, it differs from
what was shown before by as many again, however few reports came last.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date

from rumor_server.errors import StoreError
from rumor_server.statistics.tally import Tally
from rumor_server.storage.open_days import OpenDays, ShownDay
from rumor_server.storage.store import Store
from rumor_shared.metric import Metric

# How often days are stepped that nobody asks for: a step that waited is there for who asks next.
_LOOK_SECONDS = 60


def next_step(
    before: ShownDay, current: Tally, least: int, seconds: int, now: int
) -> ShownDay | None:
    """Return what is shown from now on where that changed, else None.

    `current` is the exact tally; a kept one is shown once it is `least` reports behind that, and
    the last step was `seconds` ago.
    """
    step = before.step + 1
    if before.waiting is None:
        if current.n - before.shown.n < least:
            return None
        return replace(before, waiting=current, step=step)
    if current.n - before.waiting.n < least or now - before.stepped < seconds:
        return None
    return ShownDay(before.waiting, current, step, now)


class SteppedTallies:
    """Tallies as analysts see them: closed days whole, open ones in steps. Any thread may ask."""

    def __init__(
        self,
        store: Store,
        open_days: OpenDays,
        seconds: int,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._open_days = open_days
        self._seconds = seconds
        self._now = now
        self._looked = 0.0

    def tally(self, metric: Metric, first: date, last: date) -> Tally:
        """Return the tally of a metric's revision over some days."""
        if metric.min_new_reports <= 1:
            return self._store.tally(metric, first, last)
        closed = self._open_days.closed_through() or date.min
        total = Tally.empty(metric.mechanism)
        if first <= closed:
            total += self._store.tally(metric, first, min(last, closed))
        for day in self._days(metric, first, last, closed):
            total += self._shown(metric, day)
        return total

    def last_whole_day(self, metric: Metric, last: date) -> date | None:
        """Return the last day up to `last` of which everything is shown; None where none is."""
        if metric.min_new_reports <= 1:
            return last
        closed = self._open_days.closed_through()
        return closed and min(last, closed)

    def look(self, metrics: tuple[Metric, ...]) -> None:
        """Step what is due, at most once a minute, and forget closed days. Raises StoreError."""
        if self._now() - self._looked < _LOOK_SECONDS:
            return
        self._looked = self._now()
        stepped = [metric for metric in metrics if metric.min_new_reports > 1]
        if not stepped:
            return
        closed = self._open_days.closed_through()
        if closed:
            self._open_days.forget(closed)
        for metric in stepped:
            for day in self._days(metric, date.min, date.max, closed or date.min):
                self._shown(metric, day)

    def _days(self, metric: Metric, first: date, last: date, closed: date) -> list[date]:
        bounds = self._store.days(metric.name, metric.revision)
        if bounds is None:
            return []
        start = max(first.toordinal(), closed.toordinal() + 1, bounds[0].toordinal())
        end = min(last, bounds[1]).toordinal()
        return [date.fromordinal(day) for day in range(start, end + 1)]

    def _shown(self, metric: Metric, day: date) -> Tally:
        nothing = ShownDay(Tally.empty(metric.mechanism), None, 0, 0)
        shown = self._open_days.read(metric, day) or nothing
        current = self._store.tally(metric, day, day)
        after = next_step(shown, current, metric.min_new_reports, self._seconds, int(self._now()))
        if after is None:
            return shown.shown
        try:
            if self._open_days.write(metric, day, after):
                return after.shown
        except StoreError:
            # A database that can't be written can be read: what was shown stays.
            return shown.shown
        return (self._open_days.read(metric, day) or nothing).shown
