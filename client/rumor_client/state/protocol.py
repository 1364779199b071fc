"""The protocols of a state store and its transactions: what a device remembers.

Every change is part of a transaction: all of it is stored, durably, or none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import NamedTuple, Protocol, TypeVar

from rumor_client.state.report import Report, Sent, Waiting
from rumor_shared.budget import Account, Series

T = TypeVar("T")

# How long a transaction waits for another thread or process (design, section 6).
LOCK_WAIT = 0.25


class Identity(NamedTuple):
    """What permanent answers and pseudonyms are derived from; `epoch` counts the secrets so far."""

    secret: bytes
    cohort: int
    epoch: int


class Size(NamedTuple):
    """How much waits in the outbox; `stored` is in bytes, see `Report.stored_bytes`."""

    reports: int
    stored: int


class Transaction(Protocol):
    """The reads and writes of one transaction."""

    def choices(self) -> Mapping[str, tuple[str, date]]:
        """Return the stored choice of each purpose and its date."""

    def choose(self, purpose: str, choice: str, as_of: date) -> None:
        """Store a choice in place of the one before."""

    def identity(self) -> Identity | None:
        """Return the secret and cohort, or None before the first report and after a denial."""

    def set_identity(self, secret: bytes, cohort: int) -> Identity:
        """Store a new secret and cohort under the next epoch, and return them."""

    def spent(self, accounts: Sequence[Account]) -> list[int]:
        """Return the total of each account, in micro-epsilon."""

    def charge(self, charges: Sequence[tuple[Account, int]]) -> None:
        """Add to each account."""

    def reports(self, series: Series, day: date) -> tuple[int, int]:
        """Return how many reports a series has had, ever and on `day`."""

    def count(self, series: Series, day: date) -> None:
        """Count one report of a series on `day`."""

    def slots(self, series: Series) -> Collection[bytes]:
        """Return the tags of the values that have a permanent answer in this series."""

    def last_permanent(self, series: Series) -> bytes:
        """Return the permanent answer of the slot that was filled last."""

    def fill_slot(self, series: Series, tag: bytes, permanent: bytes) -> None:
        """Store a new value's tag, and its permanent answer in place of the last one's."""

    def put(self, report: Report) -> None:
        """Append a report to the outbox."""

    def size(self) -> Size:
        """Return how much waits."""

    def days(self) -> list[date]:
        """Return the days that have waiting reports, oldest first."""

    def waiting(self, day: date | None, after: int, limit: int) -> list[Waiting]:
        """Return up to `limit` waiting reports behind position `after`, oldest first.

        Those of one day, or of all days for None.
        """

    def attempt(self, ids: Collection[bytes]) -> Collection[bytes]:
        """Mark waiting reports as on their way: from now on they may have been counted.

        Returns those of `ids` that still wait.
        """

    def refused(self, ids: Collection[bytes]) -> None:
        """Take back the latest mark of waiting reports: the collector read and counted none.

        One that had been on its way before may have been counted then.
        """

    def withdraw(self, ids: Collection[bytes], reason: str) -> int:
        """Remove waiting reports before there is an answer; return how many there were.

        They are counted under `reason`. One that was on its way may have been counted: it is
        counted as unconfirmed, and kept in the sent log without a verdict.
        """

    def apply_verdicts(self, sent: Sequence[Sent]) -> int:
        """Move reports that were answered for good from the outbox to the sent log.

        A rejected one is counted as a drop. One that was withdrawn on its way gets its verdict, and
        is no longer counted as unconfirmed. Returns how many got their first verdict; one that was
        forgotten gets none.
        """

    def lose(self, reason: str, answers: int) -> None:
        """Count answers of which no report was made, beside the drops."""

    def note(self, name: str) -> int | None:
        """Return a number that was noted, None where there is none."""

    def set_note(self, name: str, value: int | None) -> None:
        """Note a number in place of the one before; None removes it."""

    def drops(self) -> Mapping[str, int]:
        """Return how many reports were dropped, by reason."""

    def sent(self) -> list[Sent]:
        """Return the sent log."""

    def forget_sent(self, before: date) -> None:
        """Remove from the sent log what is dated before a day.

        Those that were counted are from now on beyond recall.
        """

    def beyond_recall(self) -> int:
        """Return how many reports were counted by the collector and are too old to be retracted."""

    def unlog(self, ids: Collection[bytes]) -> None:
        """Remove reports from the sent log, since they were taken back or never can be.

        What became of them is known now: none is counted as unconfirmed any more.
        """

    def erase(self, purpose: str | None) -> None:
        """Delete the outbox (of one purpose, or all of it), the memo and the secret."""

    def forget(self) -> None:
        """Delete what `erase` leaves: the sent log, the notes and the counts of drops.

        What stays are the choices and the ledger's totals.
        """


class State(Protocol):
    """The memory of one device. Safe to share between threads; a file also between processes."""

    def transaction(self, wait: float = LOCK_WAIT) -> AbstractContextManager[Transaction]:
        """Begin a transaction: committed at the end of the block, undone by an exception.

        Waits up to `wait` seconds for others. Raises StateBusy and StateUnavailable.
        """

    def run(self, work: Callable[[Transaction], T], wait: float = LOCK_WAIT) -> T:
        """Return what `work` returns in a transaction, which other threads' works may share.

        Each work is all stored or all undone, whatever becomes of the others. Raises what it
        raises, StateBusy and StateUnavailable.
        """

    def choices(self, wait: float = LOCK_WAIT) -> Mapping[str, tuple[str, date]]:
        """Return the stored choices without a transaction, and without making a file.

        Raises StateBusy and StateUnavailable.
        """

    def upload_turn(self) -> AbstractContextManager[bool]:
        """Take the turn to upload, for the block; gives False while another process has it."""

    def revoke(self) -> bool:
        """Withdraw every grant without a transaction, which a full disk refuses.

        Returns whether that is durable. What a denial deletes is deleted by the next transaction
        that there is room for.
        """

    def scrub(self) -> bool:
        """Overwrite what was deleted. False if a reader was in the way: then `erasure_pending`."""

    def erasure_pending(self) -> bool:
        """Return whether deleted bytes may still be in the file."""

    def close(self) -> None:
        """Let go of the file. The next transaction opens it again."""
