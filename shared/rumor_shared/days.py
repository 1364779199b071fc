"""UTC days as the labels that clients and servers exchange."""

from __future__ import annotations

from datetime import UTC, date, datetime


def utc_day(moment: datetime) -> date:
    """Return the UTC date of an aware moment. Raises ValueError for a naive one."""
    if moment.tzinfo is None:
        raise ValueError("a day needs an aware datetime; pass one with tzinfo=UTC")
    return moment.astimezone(UTC).date()


def parse_day(label: str) -> date:
    """Return the date of a `YYYY-MM-DD` label, and no other spelling. Raises ValueError."""
    day = date.fromisoformat(label)
    if day.isoformat() != label:
        raise ValueError("a day is written YYYY-MM-DD")
    return day
