"""The store on PostgreSQL, for several nodes that ingest: appended deltas, compacted on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from rumor_server.errors import DiskAlmostFull, StoreUnavailable
from rumor_server.statistics.tally import Tally
from rumor_server.storage.committing import CommittingStore, no_collector, revisions_of
from rumor_server.storage.postgres.connection import (
    Connection,
    Lock,
    check,
    configure,
    connect,
    options,
)
from rumor_server.storage.postgres.statements import PostgresStatements, closed_through, compact
from rumor_server.storage.tally_invariants import check_tally
from rumor_server.storage.tally_rows import add_chunk
from rumor_shared.metric import Metric

# Estimates are read by few people: one connection each for the handful that ask at a time.
_READERS = 4
# Left alone, the pool doubles its pause between tries for five minutes, and readers hear 503 for as
# long again as the database was away. Given up this soon, the next reader has it try at once.
_RECONNECT_SECONDS = 2.0
# A transaction of compaction: some 20 ms, in which no commit waits for it.
_COMPACT_DELTAS = 5_000


class PostgresStore(CommittingStore):
    """A `Store` in the schema `rumor` of the database at `url`, which `rumor db upgrade` makes.

    Any number of processes may share it. A commit waits up to `busy_seconds` for others.
    """

    def __init__(self, url: str, *, busy_seconds: float = 5.0) -> None:
        self._url = url
        self._connection = connect(url, busy_seconds)
        try:
            check(self._connection)
            row = self._connection.execute("SELECT id_key FROM collector").fetchone()
            if row is None:
                raise no_collector()
        except BaseException:
            self._connection.close()
            raise
        super().__init__(row[0], busy_seconds)
        self._pool = ConnectionPool(
            url,
            connection_class=Connection,
            min_size=0,
            max_size=_READERS,
            kwargs={"autocommit": True, **options(busy_seconds)},
            configure=configure,
            check=ConnectionPool.check_connection,
            timeout=busy_seconds or 1,
            reconnect_timeout=_RECONNECT_SECONDS,
            open=True,
        )

    def compact(self) -> int:
        """Fold deltas into tallies; see `Store.compact`. One node does, the others return 0."""
        folded = 0
        while True:
            with self._transaction():
                row = self._connection.execute(
                    "SELECT pg_try_advisory_xact_lock(%s)", (Lock.COMPACT,)
                ).fetchone()
                if row != (True,):
                    return folded
                count = compact(self._connection, _COMPACT_DELTAS)
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
        return revisions_of(name, (body for (body,) in bodies))

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
        check_tally(metric.name, metric.mechanism, total)
        return total

    def days(self, name: str, revision: int | None = None) -> tuple[date, date] | None:
        """Return the first and last day with a report; see `Store.days`."""
        with self._reader() as connection:
            row = connection.execute(
                "SELECT min(day), max(day) FROM (SELECT day FROM "
                "(SELECT series, day, reports FROM tallies "
                "UNION ALL SELECT series, day, reports FROM deltas) AS both_of_them "
                "JOIN series USING (series) WHERE metric = %s "
                "AND revision = coalesce(%s, revision) "
                "GROUP BY day HAVING sum(reports) > 0) AS counted",
                (name, revision),
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

    def erase(self) -> bool:
        """Return True: the server reuses what was deleted by itself; see `Store.erase`."""
        return True

    @contextmanager
    def _begin(self, *, exclusive: bool) -> Iterator[PostgresStatements]:
        """Hold the lock of commits, with others or alone, from before the first read."""
        lock = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
        try:
            if self._connection.closed:
                self._connection = connect(self._url, self._busy_seconds)
            try:
                self._connection.execute(f"BEGIN; SELECT {lock}({Lock.COMMIT:d})".encode())
                yield PostgresStatements(self._connection)
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
