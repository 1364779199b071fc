"""A fake clock, which a test moves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# Any day will do that is neither the first nor the last of a month.
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass
class FakeClock:
    """A clock that stands at `now` until it is moved."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        """Return the moment that was set."""
        return self.now

    def move(self, **delta: float) -> None:
        """Move by a timedelta's arguments, for instance `days=1`; negative ones go back."""
        self.now += timedelta(**delta)
