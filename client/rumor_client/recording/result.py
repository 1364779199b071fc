"""The result of `record`: a value to inspect, never an exception, and never a word of the value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rumor_shared.epsilon import format_micro


class RecordStatus(StrEnum):
    """What became of one call of `record`."""

    RECORDED = "recorded"
    """Perturbed, charged, and stored to be sent."""
    NO_CONSENT = "no_consent"
    """Nothing happened and nothing was spent: nobody said yes."""
    EXPIRED = "expired"
    """The metric's last valid day is over."""
    BUDGET_EXCEEDED = "budget_exceeded"
    """A cap would be passed. The result says which, how much was asked and is left, and until
    when."""
    BUSY = "busy"
    """Another thread or process held the state for 250 ms. Nothing was spent."""
    UNAVAILABLE = "unavailable"
    """The state can't be read or written, such as on a full disk."""
    CLOSED = "closed"
    """The client was closed before."""


class Cap(StrEnum):
    """The caps that a report must fit under, each over one account of the ledger.

    METRIC, FAMILY and DAY hold for one UTC date, LIFE over all dates. APP_* are the app's own.
    """

    METRIC = "metric"
    """The metric's `daily_epsilon`."""
    FAMILY = "family"
    """The daily allowance of the metric's family."""
    DAY = "day"
    """The registry's `daily_epsilon`, over all metrics."""
    APP_DAY = "app_day"
    """The app's `daily_cap`."""
    METRIC_LIFE = "metric_life"
    """The metric's `lifetime_epsilon`."""
    FAMILY_LIFE = "family_life"
    """The lifetime allowance of the metric's family."""
    LIFE = "life"
    """The registry's `lifetime_epsilon`, over all metrics."""
    APP_LIFE = "app_life"
    """The app's `lifetime_cap`."""


@dataclass(frozen=True)
class Result:
    """What became of one call of `record`.

    The last four fields are given for BUDGET_EXCEEDED alone: `account` is the cap that would have
    been passed; `asked` and `left` are micro-epsilon; `until` is when that account starts anew,
    None for an account of a lifetime.
    """

    status: RecordStatus
    metric: str
    account: Cap | None = None
    asked: int | None = None
    left: int | None = None
    until: datetime | None = None

    @property
    def recorded(self) -> bool:
        """Whether a report was made and stored."""
        return self.status is RecordStatus.RECORDED

    def __str__(self) -> str:
        if self.asked is None or self.left is None:
            return f"{self.metric}: {self.status}"
        until = f" until {self.until:%Y-%m-%d %H:%M} UTC" if self.until else ""
        return (
            f"{self.metric}: {self.status}: a report costs epsilon {format_micro(self.asked)} "
            f"and the account {self.account!s} has {format_micro(self.left)} left{until}"
        )
