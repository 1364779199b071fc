"""The store on one SQLite file: one writer, group commit, readers on connections of their own."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

from rumor_server.errors import ChangedMeaning, DiskAlmostFull, StoreUnavailable
from rumor_server.ingestion.admission import Decision, admit
from rumor_server.ingestion.hashed import Hashing, days_of_batches, days_of_retractions
from rumor_server.ingestion.keyed_hashes import IdHash
from rumor_server.ingestion.retraction import Receipt, Retractions, Withdrawal, replay, withdraw
from rumor_server.statistics.mechanisms import tally_of
from rumor_server.statistics.tally import Tally
from rumor_server.storage.sqlite.file import open_reader, open_writer
from rumor_server.storage.sqlite.rows import (
    Remembered,
    add_spend,
    add_tallies,
    day_keys,
    insert_ids,
    known_ids,
    known_states,
    prepare,
    set_states,
    spent_so_far,
)
from rumor_server.storage.store import Result, ScreenedBatch
from rumor_server.storage.tally_rows import TallyRow, add_chunk
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry, parse_registry


class SqliteStore:
    """A `Store` in the file `path`, which is made if it is absent.

    Other processes may hold the same file: a commit waits up to `busy_seconds` for them.
    """

    def __init__(self, path: Path, *, busy_seconds: float = 5.0) -> None:
        self._path = path.absolute()
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._connection = open_writer(path, busy_seconds)
        prepare(self._connection)
        (id_key,) = self._connection.execute("SELECT id_key FROM collector").fetchone()
        self._ids = IdHash(id_key)
        self._series: dict[tuple[str, int], int] = {}

    def adopt(self, registry: Registry) -> None:
        """Remember a registry; see `Store.adopt`."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO registries VALUES (?, ?) ON CONFLICT DO NOTHING",
                (registry.sha256, registry.body),
            )
            connection.executemany(
                "INSERT INTO series (metric, revision, fingerprint, registry) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                [
                    (metric.name, metric.revision, metric.fingerprint, registry.sha256)
                    for metric in registry.metrics.values()
                ],
            )
            for metric in registry.metrics.values():
                series, fingerprint = connection.execute(
                    "SELECT series, fingerprint FROM series WHERE metric = ? AND revision = ?",
                    (metric.name, metric.revision),
                ).fetchone()
                if fingerprint != metric.fingerprint:
                    raise ChangedMeaning(metric.name, metric.revision)
                self._series[metric.name, metric.revision] = series

    def commit(self, batches: Sequence[ScreenedBatch]) -> list[list[Result]]:
        """Count what may be counted, in one transaction; see `Store.commit`."""
        try:
            return self._commit(batches, are_new=True)
        except Remembered:
            return self._commit(batches, are_new=False)

    def retract(self, batches: Sequence[Retractions]) -> Withdrawal:
        """Subtract what may be taken back, in one transaction; see `Store.retract`."""
        with self._transaction() as connection:
            closed = _closed_through(connection)
            keys = day_keys(connection, days_of_retractions(batches), closed)
            hashed = Hashing(self._ids, keys).retractions(batches)
            ids = [id_ for batch in hashed for id_, _ in batch.hashes or ()]
            withdrawal = withdraw(hashed, known_states(connection, ids))
            self._withdraw(connection, withdrawal)
        return withdrawal

    def replay(self, receipts: Iterable[Receipt]) -> int:
        """Do again what receipts prove; see `Store.replay`."""
        receipts = list(receipts)
        with self._transaction() as connection:
            known = known_states(connection, [receipt.id for receipt in receipts])
            withdrawal = replay(receipts, known, _closed_through(connection))
            self._withdraw(connection, withdrawal)
        return len(withdrawal.states)

    def close_days(self, through: date) -> date:
        """Close all days up to `through`; see `Store.close_days`."""
        with self._transaction() as connection:
            (closed,) = connection.execute(
                "UPDATE collector SET closed_through = max(closed_through, ?) "
                "RETURNING closed_through",
                (through.toordinal(),),
            ).fetchone()
            connection.execute("DELETE FROM ids WHERE day <= ?", (closed,))
            connection.execute("DELETE FROM spend WHERE day <= ?", (closed,))
            connection.execute("DELETE FROM day_keys WHERE day <= ?", (closed,))
        return date.fromordinal(closed)

    def compact(self) -> int:
        """Return 0: tallies are updated in place, by the one writer of the file."""
        return 0

    def revisions(self, name: str) -> tuple[Metric, ...]:
        """Return every revision of a metric, the newest last; see `Store.revisions`."""
        with self._reader() as connection:
            bodies = connection.execute(
                "SELECT body FROM series JOIN registries ON registry = sha256 "
                "WHERE metric = ? ORDER BY revision",
                (name,),
            ).fetchall()
        return tuple(parse_registry(body).metric(name) for (body,) in bodies)

    def tally(self, metric: Metric, first: date, last: date) -> Tally:
        """Return a tally over days; see `Store.tally`."""
        total = Tally.empty(metric.mechanism)
        with self._reader() as connection:
            rows = connection.execute(
                "SELECT cohort, chunk, reports, cells FROM tallies "
                "WHERE series = (SELECT series FROM series WHERE metric = ? AND revision = ?) "
                "AND day BETWEEN ? AND ?",
                (metric.name, metric.revision, first.toordinal(), last.toordinal()),
            )
            for cohort, chunk, reports, cells in rows:
                add_chunk(total, cohort, chunk, reports, cells)
        return total

    def days(self, name: str) -> tuple[date, date] | None:
        """Return the first and last day with a report; see `Store.days`."""
        with self._reader() as connection:
            first, last = connection.execute(
                "SELECT min(day), max(day) FROM tallies JOIN series USING (series) "
                "WHERE metric = ? AND reports > 0",
                (name,),
            ).fetchone()
        return None if first is None else (date.fromordinal(first), date.fromordinal(last))

    def check(self) -> None:
        """Return if the database answers; see `Store.check`."""
        with self._reader() as connection:
            connection.execute("SELECT closed_through FROM collector").fetchone()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _commit(self, batches: Sequence[ScreenedBatch], *, are_new: bool) -> list[list[Result]]:
        """Count a group, on the assumption that nothing of it is known, which saves a look-up.

        Raises Remembered, with nothing written, where that proves wrong.
        """
        with self._transaction() as connection:
            closed = _closed_through(connection)
            keys = day_keys(connection, days_of_batches(batches), closed)
            hashed = Hashing(self._ids, keys).batches(batches)
            ids = [id_ for batch in hashed for id_ in batch.ids]
            known = {} if are_new else known_ids(connection, ids)
            spent = spent_so_far(connection, hashed)
            decision = admit(hashed, known, spent, closed)
            if are_new and known_ids(connection, decision.refused(hashed)):
                raise Remembered("a report that was to be refused is remembered")
            insert_ids(connection, decision)
            add_spend(connection, decision.spend, spent)
            add_tallies(connection, self._counted(decision))
        return decision.results

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the database's one write lock from the first read to the commit.

        A deferred transaction that reads first can't wait for the lock later: it fails at once.
        """
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                    raise DiskAlmostFull(shutil.disk_usage(self._path.parent).free, 0) from error
                raise StoreUnavailable(f"the commit failed ({error}); send it again") from error

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        with closing(open_reader(self._path, self._busy_seconds)) as connection:
            try:
                yield connection
            except sqlite3.Error as error:
                raise StoreUnavailable(f"the database can't be read ({error})") from error

    def _counted(self, decision: Decision) -> Iterator[TallyRow]:
        for (name, day, cohort), payloads in decision.payloads.items():
            metric = decision.metrics[name]
            series = self._series[name, metric.revision]
            yield TallyRow(series, day, cohort, len(payloads), tally_of(metric, payloads))

    def _withdraw(self, connection: sqlite3.Connection, withdrawal: Withdrawal) -> None:
        set_states(connection, withdrawal)
        rows = []
        for (name, revision, day, cohort), payloads in withdrawal.payloads.items():
            series, body = connection.execute(
                "SELECT series, body FROM series JOIN registries ON registry = sha256 "
                "WHERE metric = ? AND revision = ?",
                (name, revision),
            ).fetchone()
            counts = tally_of(parse_registry(body).metric(name), payloads)
            rows.append(TallyRow(series, day, cohort, -len(payloads), -counts))
        add_tallies(connection, rows)


def _closed_through(connection: sqlite3.Connection) -> date:
    (closed,) = connection.execute("SELECT closed_through FROM collector").fetchone()
    return date.fromordinal(closed) if closed else date.min
