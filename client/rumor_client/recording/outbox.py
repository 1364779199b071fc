"""The outbox's bounds in reports, bytes and age: the oldest is dropped first, each drop counted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from rumor_client.state.protocol import Transaction
from rumor_client.state.report import OUTBOX_FULL, TOO_OLD, Report

# A page of drops at a time: an outbox is bounded, so this is about memory, not correctness.
_PAGE = 256


@dataclass(frozen=True)
class Bounds:
    """How much may wait. Ten thousand reports are months of an app's; 8 MiB is a photograph."""

    reports: int = 10_000
    stored: int = 8 << 20


def put(transaction: Transaction, report: Report, bounds: Bounds) -> None:
    """Append a report, dropping the oldest that wait until it fits."""
    transaction.put(report)
    size = transaction.size()
    while size.reports > max(1, bounds.reports) or (
        size.stored > bounds.stored and size.reports > 1
    ):
        (oldest,) = transaction.waiting(None, 0, 1)
        transaction.withdraw([oldest.report.id], OUTBOX_FULL)
        size = transaction.size()


def drop_expired(transaction: Transaction, today: date, max_age_days: int) -> int:
    """Drop what is older than the collector accepts, and return how many reports that was.

    The sent log is cut at the same age: what is older can't be retracted either.
    """
    limit = _days_before(today, max_age_days)
    dropped = 0
    for day in transaction.days():
        if day >= limit:
            break
        while old := transaction.waiting(day, 0, _PAGE):
            dropped += transaction.withdraw([item.report.id for item in old], TOO_OLD)
    transaction.forget_sent(limit)
    return dropped


def _days_before(day: date, days: int) -> date:
    return date.min if day.toordinal() <= days else day - timedelta(days=days)
