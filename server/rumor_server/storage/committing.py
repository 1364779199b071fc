"""How a group is committed, on any database: hash, look up, admit, write, in one transaction.

`CommittingStore` is the order of the steps; what each step says to a database is `Statements`,
which `sqlite.statements` and `postgres.statements` implement.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from rumor_server.errors import ChangedMeaning, StoreError, StoreUnavailable
from rumor_server.ingestion.admission import Decision, HashedBatch, admit
from rumor_server.ingestion.keyed_hashes import (
    Hashing,
    IdHash,
    days_of_batches,
    days_of_retractions,
)
from rumor_server.ingestion.retraction import (
    HashedRetractions,
    Known,
    Receipt,
    Retractions,
    Withdrawal,
    replay,
    withdraw,
)
from rumor_server.ingestion.screening import Result, ScreenedBatch
from rumor_server.statistics.mechanisms import tally_of
from rumor_server.storage.tally_rows import TallyRow
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry, parse_registry

T = TypeVar("T")

# After so long without a commit, only a write shows that one is possible.
_PROVEN_SECONDS = 60.0


class Contended(Exception):
    """A report was known after all, or another node counted or charged the same: decide again."""


class _Undone(Exception):
    """A transaction that was only tried is rolled back."""


class DeclaredSeries(NamedTuple):
    """One revision of a metric in a database, with the registry that declared it first."""

    series: int
    fingerprint: str
    registry: bytes


class Statements(Protocol):
    """What one transaction says to a database, each statement over a whole group."""

    def remember_registry(self, registry: Registry) -> None:
        """Remember a registry and its metrics' revisions, unless they are remembered."""

    def series(self, metric: str, revision: int) -> DeclaredSeries:
        """Return a declared revision of a metric. Raises StoreError where there is none."""

    def closed_and_keys(self, days: Mapping[date, bool]) -> tuple[date, dict[date, bytes]]:
        """Return the last closed day, and the keys that days have.

        One is made for an open day where `days` says so.
        """

    def known_ids(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the digests of those ids that are remembered."""

    def known_states(self, ids: Sequence[bytes]) -> dict[bytes, Known]:
        """Return what is remembered of those ids that are, and keep others from changing it."""

    def spent_so_far(self, accounts: Set[tuple[date, bytes]]) -> dict[tuple[date, bytes], int]:
        """Return what those accounts, by day and hash, have spent that exist, and lock them."""

    def write(self, decision: Decision, rows: Sequence[TallyRow]) -> None:
        """Write new ids, spend and what comes to tallies. Raises Contended, StoreError."""

    def set_states(self, withdrawal: Withdrawal, known: Mapping[bytes, Known]) -> None:
        """Remember what became of ids that were retracted, and charge. Raises Contended."""

    def add_tallies(self, rows: Iterable[TallyRow]) -> None:
        """Add to tallies, in place or as deltas."""

    def close_through(self, through: date) -> date:
        """Move the last closed day forward, destroy the keys up to it, and return it."""

    def forget_ids(self, after: bytes, at_most: int) -> bytes | None:
        """Delete the ids of closed days among the next so many after one, in their order.

        Returns the last of them, or None where no more come.
        """

    def forget_spend(self, at_most: int) -> int:
        """Delete so many accounts of closed days; return how many there were."""

    def try_locks(self) -> None:
        """Return if what a commit writes can be locked now. Raises StoreError."""

    def try_write(self) -> None:
        """Write something that changes nothing."""


class CommittingStore(ABC):
    """The writing half of a `Store`; a database brings its transactions."""

    def __init__(self, id_key: bytes, busy_seconds: float) -> None:
        self._ids = IdHash(id_key)
        self._busy_seconds = busy_seconds
        self._series: dict[tuple[str, int], int] = {}
        # Whoever writes, one at a time.
        self._lock = threading.Lock()
        # When a commit last proved that there can be one; None since one failed.
        self._proven: float | None = None
        # The id up to which those of closed days are deleted; None with all of them. A process that
        # was killed may have left some.
        self._forgotten_to: bytes | None = b""

    @abstractmethod
    def _begin(self, *, exclusive: bool) -> AbstractContextManager[Statements]:
        """Begin a transaction: committed, durably, at the end of the block; or nothing of it.

        No other writer comes between its statements if it is `exclusive`. Raises StoreError.
        """

    @contextmanager
    def _transaction(self, *, exclusive: bool = False) -> Iterator[Statements]:
        with self._lock:
            try:
                with self._begin(exclusive=exclusive) as statements:
                    yield statements
            except StoreError:
                self._proven = None
                raise
            self._proven = time.monotonic()

    def declare(self, registry: Registry) -> None:
        """Remember a registry; see `Store.declare`."""
        found: dict[tuple[str, int], int] = {}
        with self._transaction(exclusive=True) as statements:
            statements.remember_registry(registry)
            for metric in registry.metrics.values():
                series, fingerprint, _ = statements.series(metric.name, metric.revision)
                if fingerprint != metric.fingerprint:
                    raise ChangedMeaning(metric.name, metric.revision)
                found[metric.name, metric.revision] = series
        self._series.update(found)

    def commit(self, batches: Sequence[ScreenedBatch]) -> list[list[Result]]:
        """Count what may be counted, in one transaction; see `Store.commit`."""
        try:
            # Nearly always nothing of a group is known, and a look-up costs a quarter of a commit.
            with self._transaction() as statements:
                return self._commit(batches, statements, are_new=True)
        except Contended:
            return self._decide(partial(self._commit, batches))

    def retract(self, batches: Sequence[Retractions]) -> Withdrawal:
        """Subtract what may be taken back, in one transaction; see `Store.retract`."""
        return self._decide(partial(self._retract, batches))

    def replay(self, receipts: Iterable[Receipt]) -> int:
        """Do again what receipts prove; see `Store.replay`."""
        return self._decide(partial(self._replay, list(receipts)))

    def close_days(self, through: date) -> date:
        """Close all days up to `through`; see `Store.close_days`."""
        with self._transaction(exclusive=True) as statements:
            before, _ = statements.closed_and_keys({})
            closed = statements.close_through(through)
        if closed != before:
            self._forgotten_to = b""
        return closed

    def forget_closed(self, at_most: int) -> bool:
        """Delete what is remembered of closed days, in part; see `Store.forget_closed`."""
        if self._forgotten_to is None:
            return False
        with self._transaction() as statements:
            if statements.forget_spend(at_most) == at_most:
                return True
            forgotten_to = statements.forget_ids(self._forgotten_to, at_most)
        self._forgotten_to = forgotten_to
        return forgotten_to is not None

    def check_writable(self) -> None:
        """Return if a report could be committed now; see `Store.check_writable`."""
        if not self._lock.acquire(timeout=self._busy_seconds or 1):
            raise StoreUnavailable("a commit takes longer than the database should need")
        proven = self._proven
        self._lock.release()
        is_proven = proven is not None and time.monotonic() - proven < _PROVEN_SECONDS
        if is_proven:
            with self._lock, suppress(_Undone), self._begin(exclusive=False) as statements:
                statements.try_locks()
                raise _Undone
        else:
            with self._transaction() as statements:
                statements.try_locks()
                statements.try_write()

    def _decide(self, work: Callable[[Statements], T]) -> T:
        """Do `work` beside other nodes; where one came between, once more with nobody beside."""
        try:
            with self._transaction() as statements:
                return work(statements)
        except Contended:
            with self._transaction(exclusive=True) as statements:
                return work(statements)

    def _commit(
        self, batches: Sequence[ScreenedBatch], statements: Statements, *, are_new: bool = False
    ) -> list[list[Result]]:
        """Count a group, with `are_new` on the assumption that nothing of it is known.

        Raises Contended, with nothing written, where that proves wrong, or another node was faster.
        """
        closed, keys = statements.closed_and_keys(days_of_batches(batches))
        hashed = Hashing(self._ids, keys).batches(batches)
        known = {}
        spent = statements.spent_so_far(_accounts(hashed))
        if not are_new:
            known = statements.known_ids([id_ for batch in hashed for id_ in batch.ids])
        decision = admit(hashed, known, spent, closed)
        refused = decision.refused(hashed) if are_new else []
        if refused and statements.known_ids(refused):
            raise Contended
        statements.write(decision, list(self._counted(decision)))
        return decision.results

    def _counted(self, decision: Decision) -> Iterator[TallyRow]:
        for (name, day, cohort), payloads in decision.payloads.items():
            metric = decision.metrics[name]
            series = self._series[name, metric.revision]
            yield TallyRow(series, day, cohort, len(payloads), tally_of(metric, payloads))

    def _retract(self, batches: Sequence[Retractions], statements: Statements) -> Withdrawal:
        _, keys = statements.closed_and_keys(days_of_retractions(batches))
        hashed = Hashing(self._ids, keys).retractions(batches)
        spent = statements.spent_so_far(_accounts(hashed))
        known = statements.known_states([id_ for one in hashed for id_, _ in one.hashes or ()])
        withdrawal = withdraw(hashed, known, spent)
        _withdraw(statements, withdrawal, known)
        return withdrawal

    def _replay(self, receipts: Sequence[Receipt], statements: Statements) -> int:
        closed, _ = statements.closed_and_keys({})
        known = statements.known_states([receipt.id for receipt in receipts])
        withdrawal = replay(receipts, known, closed)
        _withdraw(statements, withdrawal, known)
        return len(withdrawal.states)


def _accounts(batches: Iterable[HashedBatch | HashedRetractions]) -> Set[tuple[date, bytes]]:
    return {(one.sent.day, account) for one in batches for account in one.accounts.values()}


def _withdraw(statements: Statements, withdrawal: Withdrawal, known: Mapping[bytes, Known]) -> None:
    statements.set_states(withdrawal, known)
    rows = []
    for (name, revision, day, cohort), payloads in withdrawal.payloads.items():
        series, _, body = statements.series(name, revision)
        counts = tally_of(parse_registry(body, stored=True).metric(name), payloads)
        rows.append(TallyRow(series, day, cohort, -len(payloads), -counts))
    statements.add_tallies(rows)


def revisions_of(name: str, registries: Iterable[bytes]) -> tuple[Metric, ...]:
    """Return the metric of this name in each registry."""
    return tuple(parse_registry(body, stored=True).metric(name) for body in registries)


def no_collector() -> StoreError:
    """Return the error of a database whose one row of `collector` is missing."""
    return StoreError("the database has lost its collector's row; restore a backup")
