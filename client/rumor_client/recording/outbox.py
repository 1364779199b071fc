"""The outbox's bounds in reports, bytes and age: the oldest is dropped first, each drop counted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from rumor_client.state.protocol import Transaction
from rumor_client.state.report import OUTBOX_FULL, TOO_FAR_AHEAD, TOO_OLD, Report

# A page of drops at a time: an outbox is bounded, so this is about memory, not correctness.
_PAGE = 256
# Notes: the last UTC day that the clock was believed to show, and the one that it jumped to since.
_BELIEVED_DAY = "believed_day"
_JUMPED_TO = "jumped_to"
# An app that is started less often than this, in days, lets the collector say what is too old.
_LONGEST_ABSENCE = 31


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


def drop_outdated(transaction: Transaction, today: date, max_age_days: int) -> int:
    """Drop what no collector accepts any more, or ever will; return how many reports that was.

    That is what is older than `max_age_days`, and what is dated further ahead than that, by a clock
    that was wrong. The sent log is cut at the same age: what is older can't be retracted either.
    Nothing is dropped on the word of a clock that jumped, until it has been seen twice.
    """
    if not _believed(transaction, today):
        return 0
    oldest = _shifted(today, -max_age_days)
    latest = _shifted(today, max_age_days)
    dropped = 0
    for day in transaction.days():
        if oldest <= day <= latest:
            continue
        reason = TOO_OLD if day < oldest else TOO_FAR_AHEAD
        while found := transaction.waiting(day, 0, _PAGE):
            dropped += transaction.withdraw([item.report.id for item in found], reason)
    transaction.forget_sent(oldest)
    return dropped


def _believed(transaction: Transaction, today: date) -> bool:
    """Return whether the clock may be believed: it goes on from the day before, or has been seen on
    two days since it jumped. A clock that is wrong for one start of a machine is not seen twice.
    """
    now = today.toordinal()
    believed, jumped = transaction.note(_BELIEVED_DAY), transaction.note(_JUMPED_TO)
    goes_on = jumped is not None and 0 < now - jumped <= _LONGEST_ABSENCE
    if believed is None or now - believed in (0, 1) or goes_on:
        transaction.set_note(_BELIEVED_DAY, now)
        transaction.set_note(_JUMPED_TO, None)
        return True
    if now != jumped:
        transaction.set_note(_JUMPED_TO, now)
    return False


def _shifted(day: date, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return date.min if days < 0 else date.max
