"""What the collector asks of a database. SQLite implements it; another database can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from rumor_server.tally import Tally
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry
from rumor_shared.wire import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one report; `reason` and `detail` say why it was not accepted."""

    verdict: Verdict
    reason: Reason | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """What may be spent of one account of a pseudonym on one day, in micro-epsilon."""

    name: str
    cap: int


@dataclass(frozen=True, slots=True)
class Charge:
    """What a report is charged: `cost` of its number today, on each of `accounts`.

    The first account is the one whose reports are numbered, from 1.
    """

    metric: Metric
    accounts: tuple[Account, ...]
    cost: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class ScreenedReport:
    """A report as it arrived, with what can be said of it without the database.

    `outcome` is what the report hears unless its id is known; or else what it will be charged.
    """

    id: bytes
    metric: str
    revision: int
    cohort: int
    payload: bytes
    outcome: Result | Charge


@dataclass(frozen=True, slots=True)
class ScreenedBatch:
    """The reports of one pseudonym and day, on their way to the store."""

    day: date
    pseudonym: bytes
    reports: Sequence[ScreenedReport]

    @property
    def weight(self) -> int:
        """What the batch takes of a queue: one for each report, and one for each KiB of payload."""
        return sum(1 + (len(report.payload) >> 10) for report in self.reports)


class Store(Protocol):
    """Durable tallies, remembered ids and spent budgets.

    `commit`, `close_days` and `adopt` are called by one thread at a time; everything else by any.
    All raise StoreError, and StoreUnavailable where sending the same again is safe and may help.
    """

    def adopt(self, registry: Registry) -> None:
        """Remember a registry and what each of its metrics means.

        Raises ChangedMeaning if a metric changed and its revision did not.
        """

    def commit(self, batches: Sequence[ScreenedBatch]) -> list[list[Result]]:
        """Count what may be counted, in one transaction, and return a result for every report.

        It returns after the commit is durable. Duplicates are found first; budgets are exact
        whatever else writes at the same time.
        """

    def close_days(self, through: date) -> date:
        """Close all days up to `through`: forget their ids, spend and keys, refuse their reports.

        Returns the last closed day, which never moves back.
        """

    def revisions(self, name: str) -> tuple[Metric, ...]:
        """Return every revision of a metric that a registry ever declared, the newest last."""

    def tally(self, metric: Metric, first: date, last: date) -> Tally:
        """Return the tally of a metric's revision over the days from `first` to `last`."""

    def days(self, name: str) -> tuple[date, date] | None:
        """Return the first and last day that have a report of a metric, or None without any."""

    def check(self) -> None:
        """Return if the database answers."""

    def close(self) -> None:
        """Release the database."""
