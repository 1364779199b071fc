"""The clock: aware moments, from which only the UTC date ever leaves the device."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the system's time, aware and in UTC, whatever the time zone of the process."""
    return datetime.now(UTC)


def next_day(day: date) -> datetime | None:
    """Return the moment the UTC date after `day` begins; None after the last date there is."""
    if day == date.max:
        return None
    return datetime.combine(day + timedelta(days=1), time(), UTC)
