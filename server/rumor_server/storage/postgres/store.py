"""The store on PostgreSQL, for several nodes that ingest: appended deltas, compacted on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from typing import TypeVar

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from rumor_server.errors import ChangedMeaning, DiskAlmostFull, StoreError, StoreUnavailable
from rumor_server.ingestion.admission import Decision, admit
from rumor_server.ingestion.hashed import Hashing, days_of_batches, days_of_retractions
from rumor_server.ingestion.keyed_hashes import IdHash
from rumor_server.ingestion.retraction import (
    Known,
    Receipt,
    Retractions,
    Withdrawal,
    replay,
    withdraw,
)
from rumor_server.statistics.mechanisms import tally_of
from rumor_server.statistics.tally import Tally
from rumor_server.storage.postgres.connection import (
    Connection,
    Lock,
    check,
    configure,
    connect,
    options,
)
from rumor_server.storage.postgres.rows import (
    Contended,
    add_spend,
    append_deltas,
    check_written,
    closed_and_keys,
    closed_through,
    compact,
    insert_ids,
    known_ids,
    known_states,
    set_states,
    spent_so_far,
)
from rumor_server.storage.store import Result, ScreenedBatch
from rumor_server.storage.tally_rows import TallyRow, add_chunk
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry, parse_registry

# Estimates are read by few people: one connection each for the handful that ask at a time.
_READERS = 4
# Left alone, the pool doubles its pause between tries for five minutes, and readers hear 503 for as
# long again as the database was away. Given up this soon, the next reader has it try at once.
_RECONNECT_SECONDS = 2.0
# A transaction of compaction: some 20 ms, in which no commit waits for it.
_COMPACT_DELTAS = 5_000

T = TypeVar("T")


class PostgresStore:
    """A `Store` in the schema `rumor` of the database at `url`, which `rumor db upgrade` makes.

    Any number of processes may share it. A commit waits up to `busy_seconds` for others.
    """

    def __init__(self, url: str, *, busy_seconds: float = 5.0) -> None:
        self._url = url
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._connection = connect(url, busy_seconds)
        try:
            check(self._connection)
            row = self._connection.execute("SELECT id_key FROM collector").fetchone()
        except BaseException:
            self._connection.close()
            raise
        if row is None:
            raise StoreError("the database has lost its collector's row; restore a backup")
        self._ids = IdHash(row[0])
        self._series: dict[tuple[str, int], int] = {}
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=_READERS,
            kwargs={"autocommit": True, **options(busy_seconds)},
            configure=configure,
            check=ConnectionPool.check_connection,
            timeout=busy_seconds or 1,
            reconnect_timeout=_RECONNECT_SECONDS,
            open=True,
        )

    def adopt(self, registry: Registry) -> None:
        """Remember a registry; see `Store.adopt`."""
        with self._transaction(exclusive=True) as connection:
            connection.execute(
                "INSERT INTO registries VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (registry.sha256, registry.body),
            )
            for metric in registry.metrics.values():
                key = (metric.name, metric.revision)
                connection.execute(
                    "INSERT INTO series (metric, revision, fingerprint, registry) "
                    "VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                    (*key, metric.fingerprint, registry.sha256),
                )
                row = connection.execute(
                    "SELECT series, fingerprint FROM series WHERE (metric, revision) = (%s, %s)",
                    key,
                ).fetchone()
                if row is None or row[1] != metric.fingerprint:
                    raise ChangedMeaning(*key)
                self._series[key] = row[0]

    def commit(self, batches: Sequence[ScreenedBatch]) -> list[list[Result]]:
        """Count what may be counted, in one transaction; see `Store.commit`."""
        try:
            # Nearly always nothing of a group is known, and a look-up costs a quarter of a commit.
            with self._transaction() as connection:
                return self._commit(batches, connection, are_new=True)
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
        with self._transaction(exclusive=True) as connection:
            connection.execute(
                "UPDATE collector SET closed_through = greatest(closed_through, %s)", (through,)
            )
            closed = closed_through(connection)
            connection.execute("DELETE FROM ids WHERE day <= %s", (closed,))
            connection.execute("DELETE FROM spend WHERE day <= %s", (closed,))
            connection.execute("DELETE FROM day_keys WHERE day <= %s", (closed,))
        return closed

    def compact(self) -> int:
        """Fold deltas into tallies; see `Store.compact`. One node does, the others return 0."""
        folded = 0
        while True:
            with self._transaction() as connection:
                row = connection.execute(
                    "SELECT pg_try_advisory_xact_lock(%s)", (Lock.COMPACT,)
                ).fetchone()
                if row != (True,):
                    return folded
                count = compact(connection, _COMPACT_DELTAS)
            folded += count
            if count < _COMPACT_DELTAS:
                return folded

    def revisions(self, name: str) -> tuple[Metric, ...]:
        """Return every revision of a metric, the newest last; see `Store.revisions`."""
        with self._reader() as connection:
            bodies = connection.execute(
                "SELECT body FROM series JOIN registries ON registry = sha256 "
                "WHERE metric = %s ORDER BY revision",
                (name,),
            ).fetchall()
        return tuple(parse_registry(body).metric(name) for (body,) in bodies)

    def tally(self, metric: Metric, first: date, last: date) -> Tally:
        """Return a tally over days; see `Store.tally`."""
        total = Tally.empty(metric.mechanism)
        wanted = {
            "metric": metric.name,
            "revision": metric.revision,
            "first": first,
            "last": last,
        }
        # One statement sees one moment: a delta is never in both tables, nor in neither.
        part = (
            "SELECT cohort, chunk, reports, cells FROM {} JOIN series USING (series) WHERE "
            "metric = %(metric)s AND revision = %(revision)s "
            "AND day BETWEEN %(first)s AND %(last)s"
        )
        both = f"{part.format('tallies')} UNION ALL {part.format('deltas')}"
        with self._reader() as connection:
            for row in connection.execute(both.encode(), wanted, binary=True):
                add_chunk(total, *row)
        return total

    def days(self, name: str) -> tuple[date, date] | None:
        """Return the first and last day with a report; see `Store.days`."""
        with self._reader() as connection:
            row = connection.execute(
                "SELECT min(day), max(day) FROM (SELECT day FROM "
                "(SELECT series, day, reports FROM tallies "
                "UNION ALL SELECT series, day, reports FROM deltas) AS both_of_them "
                "JOIN series USING (series) WHERE metric = %s "
                "GROUP BY day HAVING sum(reports) > 0) AS counted",
                (name,),
            ).fetchone()
        return None if row is None or row[0] is None else (row[0], row[1])

    def check(self) -> None:
        """Return if the database answers; see `Store.check`."""
        with self._reader() as connection:
            closed_through(connection)

    def close(self) -> None:
        """Release the connections."""
        with self._lock:
            self._pool.close()
            self._connection.close()

    def _decide(self, work: Callable[[Connection], T]) -> T:
        """Do `work` beside other nodes; where one came between, once more with nobody beside."""
        try:
            with self._transaction() as connection:
                return work(connection)
        except Contended:
            with self._transaction(exclusive=True) as connection:
                return work(connection)

    @contextmanager
    def _transaction(self, *, exclusive: bool = False) -> Iterator[Connection]:
        """Hold the lock of commits, with others or alone, from before the first read."""
        lock = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
        with self._lock:
            try:
                if self._connection.closed:
                    self._connection = connect(self._url, self._busy_seconds)
                try:
                    self._connection.execute(f"BEGIN; SELECT {lock}({Lock.COMMIT:d})".encode())
                    yield self._connection
                    if self._connection.execute("COMMIT").statusmessage != "COMMIT":
                        raise StoreUnavailable("the database did not commit; send it again")
                finally:
                    self._roll_back()
            except (errors.DeadlockDetected, errors.LockNotAvailable) as error:
                raise StoreUnavailable("the database is locked; send it again") from error
            except errors.DiskFull as error:
                raise DiskAlmostFull(0, 0) from error
            except psycopg.Error as error:
                raise StoreUnavailable(
                    f"the commit failed ({type(error).__name__}); send it again"
                ) from error

    def _roll_back(self) -> None:
        """End a transaction that was not committed, unless its connection is gone."""
        state = self._connection.info.transaction_status
        if state not in {TransactionStatus.IDLE, TransactionStatus.UNKNOWN}:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _reader(self) -> Iterator[Connection]:
        try:
            with self._pool.connection() as connection:
                yield connection
        except (psycopg.Error, PoolTimeout) as error:
            raise StoreUnavailable(
                f"the database can't be read ({type(error).__name__})"
            ) from error

    def _commit(
        self, batches: Sequence[ScreenedBatch], connection: Connection, *, are_new: bool = False
    ) -> list[list[Result]]:
        """Count a group, with `are_new` on the assumption that nothing of it is known.

        Raises Contended, with nothing written, where that proves wrong, or another node was faster.
        """
        closed, keys = closed_and_keys(connection, days_of_batches(batches))
        hashed = Hashing(self._ids, keys).batches(batches)
        spent = spent_so_far(connection, hashed)
        ids = [id_ for batch in hashed for id_ in batch.ids]
        known = {} if are_new else known_ids(connection, ids)
        decision = admit(hashed, known, spent, closed)
        refused = decision.refused(hashed)
        if are_new and refused and known_ids(connection, refused):
            raise Contended
        counted = list(self._counted(decision))
        with connection.pipeline():
            written = [*insert_ids(connection, decision), *add_spend(connection, decision.spend)]
            append_deltas(connection, counted)
        check_written(written)
        return decision.results

    def _counted(self, decision: Decision) -> Iterator[TallyRow]:
        for (name, day, cohort), payloads in decision.payloads.items():
            metric = decision.metrics[name]
            series = self._series[name, metric.revision]
            yield TallyRow(series, day, cohort, len(payloads), tally_of(metric, payloads))

    def _retract(self, batches: Sequence[Retractions], connection: Connection) -> Withdrawal:
        _, keys = closed_and_keys(connection, days_of_retractions(batches))
        hashed = Hashing(self._ids, keys).retractions(batches)
        known = known_states(connection, [id_ for one in hashed for id_, _ in one.hashes or ()])
        withdrawal = withdraw(hashed, known)
        self._withdraw(connection, withdrawal, known)
        return withdrawal

    def _replay(self, receipts: Sequence[Receipt], connection: Connection) -> int:
        known = known_states(connection, [receipt.id for receipt in receipts])
        withdrawal = replay(receipts, known, closed_through(connection))
        self._withdraw(connection, withdrawal, known)
        return len(withdrawal.states)

    def _withdraw(
        self, connection: Connection, withdrawal: Withdrawal, known: dict[bytes, Known]
    ) -> None:
        set_states(connection, withdrawal, known)
        rows = []
        for (name, revision, day, cohort), payloads in withdrawal.payloads.items():
            row = connection.execute(
                "SELECT series, body FROM series JOIN registries ON registry = sha256 "
                "WHERE (metric, revision) = (%s, %s)",
                (name, revision),
            ).fetchone()
            if row is None:
                raise StoreError("a retracted report's metric is not in the database")
            counts = tally_of(parse_registry(row[1]).metric(name), payloads)
            rows.append(TallyRow(row[0], day, cohort, -len(payloads), -counts))
        append_deltas(connection, rows)
