"""The store on one SQLite file: one writer, group commit, readers on connections of their own."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

import numpy as np

from rumor_server.admission import Decision, HashedBatch, HashedReport, admit
from rumor_server.digest import account_hash, id_hash, report_digest
from rumor_server.errors import ChangedMeaning, DiskAlmostFull, StoreUnavailable
from rumor_server.sqlite_file import open_reader, open_writer
from rumor_server.sqlite_rows import (
    CHUNK_CELLS,
    INT64,
    add_spend,
    add_tally,
    day_keys,
    insert_ids,
    known_ids,
    spent_so_far,
)
from rumor_server.store import Charge, Result, ScreenedBatch, ScreenedReport
from rumor_server.tally import Tally
from rumor_shared.mechanism import mechanism_module
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
        (self._id_key,) = self._connection.execute("SELECT id_key FROM collector").fetchone()
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
        with self._transaction() as connection:
            (closed,) = connection.execute("SELECT closed_through FROM collector").fetchone()
            keys = day_keys(connection, batches, closed)
            hashed = [self._hash(batch, keys.get(batch.day)) for batch in batches]
            decision = admit(
                hashed,
                known_ids(connection, hashed),
                spent_so_far(connection, hashed),
                date.fromordinal(closed) if closed else date.min,
            )
            self._write(connection, decision)
        return decision.results

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
                total.reports[cohort] += reports
                start = chunk * CHUNK_CELLS
                counts = np.frombuffer(cells, dtype=INT64)
                total.counts[cohort, start : start + len(counts)] += counts
        return total

    def days(self, name: str) -> tuple[date, date] | None:
        """Return the first and last day with a report; see `Store.days`."""
        with self._reader() as connection:
            first, last = connection.execute(
                "SELECT min(day), max(day) FROM tallies JOIN series USING (series) "
                "WHERE metric = ?",
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

    def _hash(self, batch: ScreenedBatch, key: bytes | None) -> HashedBatch:
        reports = [
            HashedReport(
                report, id_hash(self._id_key, report.id), key and _digest(key, batch.day, report)
            )
            for report in batch.reports
        ]
        names = {
            account.name
            for report in batch.reports
            if isinstance(report.outcome, Charge)
            for account in report.outcome.accounts
        }
        accounts = {name: account_hash(key, batch.pseudonym, name) for name in names} if key else {}
        return HashedBatch(batch.day, reports, accounts)

    def _write(self, connection: sqlite3.Connection, decision: Decision) -> None:
        insert_ids(connection, decision)
        add_spend(connection, decision.spend)
        for (name, day, cohort), payloads in decision.payloads.items():
            metric = decision.metrics[name]
            module = mechanism_module("rumor_server", metric.mechanism.name)
            counts = module.tally(metric.mechanism, payloads)
            row = (self._series[name, metric.revision], day.toordinal(), cohort)
            add_tally(connection, row, len(payloads), counts)


def _digest(key: bytes, day: date, report: ScreenedReport) -> bytes:
    return report_digest(
        key, report.id, report.metric, report.revision, day, report.cohort, report.payload
    )
