"""The system's clock, as the collector reads it."""

from __future__ import annotations

from datetime import UTC, date, datetime

from rumor_shared.days import utc_day


def utc_now() -> datetime:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def system_day() -> date:
    """Return the UTC day."""
    return utc_day(datetime.now(UTC))
