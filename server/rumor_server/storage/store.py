"""What the collector asks of a database. SQLite implements it; another database can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Protocol

from rumor_server.ingestion.retraction import Receipt, Retractions, Withdrawal
from rumor_server.ingestion.screening import Result, ScreenedBatch
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry

# What is deleted of a closed day between two groups of reports: some 10 ms.
SLICE_ROWS = 5_000


class Store(Protocol):
    """Durable tallies, remembered ids and spent budgets.

    What writes is called by one thread at a time; everything else by any.
    All raise StoreError, and StoreUnavailable where sending the same again is safe and may help.
    """

    def declare(self, registry: Registry) -> None:
        """Remember a registry and what each of its metrics means.

        Raises ChangedMeaning if a metric changed and its revision did not.
        """

    def commit(self, batches: Sequence[ScreenedBatch]) -> list[list[Result]]:
        """Count what may be counted, in one transaction, and return a result for every report.

        It returns after the commit is durable. Duplicates are found first; budgets are exact
        whatever else writes at the same time.
        """

    def retract(self, batches: Sequence[Retractions]) -> Withdrawal:
        """Subtract what may be taken back, in one transaction, once, and return what was decided.

        It returns after the commit is durable. The receipts are the caller's to keep.
        """

    def replay(self, receipts: Iterable[Receipt]) -> int:
        """Do again what receipts prove and the database lacks; return how many that were.

        For a database that was restored, before it takes reports. Doing it twice changes nothing.
        """

    def close_days(self, through: date) -> date:
        """Close all days up to `through`: destroy their keys, refuse their reports.

        Returns the last closed day, which never moves back. What is remembered of their reports
        means nothing without the keys; `forget_closed` deletes it.
        """

    def forget_closed(self, at_most: int) -> bool:
        """Delete so many ids and spend of closed days; return whether there may be more."""

    def compact(self) -> int:
        """Fold what commits appended into tallies, where they append; return how many rows."""

    def revisions(self, name: str) -> tuple[Metric, ...]:
        """Return every revision of a metric that a registry ever declared, the newest last."""

    def tally(self, metric: Metric, first: date, last: date) -> Tally:
        """Return the tally of a metric's revision over the days from `first` to `last`."""

    def days(self, name: str, revision: int | None = None) -> tuple[date, date] | None:
        """Return the first and last day that have a report of a metric, or None without any.

        Given a `revision`, only its reports count.
        """

    def check(self) -> None:
        """Return if the database answers."""

    def check_writable(self) -> None:
        """Return if a report could be committed now: by locks that a commit needs, or by a write.

        A write is tried after a failure and after a minute without a commit. It waits for a commit
        that runs. Raises StoreError.
        """

    def erase(self) -> bool:
        """Have what was deleted overwritten; return False while another's reading prevents it."""

    def close(self) -> None:
        """Release the database."""
