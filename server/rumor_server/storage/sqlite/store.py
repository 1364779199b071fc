"""The store on one SQLite file: one writer, group commit, readers on connections of their own."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

from rumor_server.errors import DiskAlmostFull, StoreUnavailable
from rumor_server.statistics.tally import Tally
from rumor_server.storage.committing import CommittingStore, no_collector, revisions_of
from rumor_server.storage.sqlite.file import open_reader, open_writer
from rumor_server.storage.sqlite.open_files import OpenFiles
from rumor_server.storage.sqlite.statements import SqliteStatements, closed_through, prepare
from rumor_server.storage.tally_invariants import check_tally
from rumor_server.storage.tally_rows import add_chunk
from rumor_shared.metric import Metric

# A reader that holds the write-ahead file longer is waited for between commits, not by them.
_ERASE_MILLISECONDS = 50


class SqliteStore(CommittingStore):
    """A `Store` in the file `path`, which is made if it is absent.

    Other processes may hold the same file: a commit waits up to `busy_seconds` for them.
    """

    def __init__(self, path: Path, *, busy_seconds: float = 5.0) -> None:
        self._path = path.absolute()
        self._connection = open_writer(path, busy_seconds)
        try:
            prepare(self._connection)
            row = self._connection.execute("SELECT id_key FROM collector").fetchone()
            if row is None:
                raise no_collector()
            # The first read made the write-ahead file.
            self._files = OpenFiles(self._path)
        except BaseException:
            self._connection.close()
            raise
        super().__init__(row[0], busy_seconds)

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
        return revisions_of(name, (body for (body,) in bodies))

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
        check_tally(metric.name, metric.mechanism, total)
        return total

    def days(self, name: str, revision: int | None = None) -> tuple[date, date] | None:
        """Return the first and last day with a report; see `Store.days`."""
        with self._reader() as connection:
            first, last = connection.execute(
                "SELECT min(day), max(day) FROM tallies JOIN series USING (series) "
                "WHERE metric = ? AND revision = coalesce(?, revision) AND reports > 0",
                (name, revision),
            ).fetchone()
        return None if first is None else (date.fromordinal(first), date.fromordinal(last))

    def check(self) -> None:
        """Return if the database answers; see `Store.check`."""
        with self._reader() as connection:
            closed_through(connection)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def erase(self) -> bool:
        """Empty the write-ahead file, which still holds what was deleted; see `Store.erase`."""
        usual = round(self._busy_seconds * 1000)
        with self._lock:
            try:
                self._connection.execute(f"PRAGMA busy_timeout = {_ERASE_MILLISECONDS}")
                ((is_busy, *_),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._connection.execute(f"PRAGMA busy_timeout = {usual}")
            except sqlite3.Error as error:
                raise StoreUnavailable(f"what was deleted is not overwritten ({error})") from error
        return not is_busy

    @contextmanager
    def _begin(self, *, exclusive: bool) -> Iterator[SqliteStatements]:
        """Hold the database's one write lock from the first read to the commit.

        A deferred transaction that reads first can't wait for the lock later: it fails at once.
        """
        del exclusive  # every writer is
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteStatements(self._connection)
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise DiskAlmostFull(_free(self._path), 0) from error
            raise StoreUnavailable(f"the commit failed ({error}); send it again") from error
        finally:
            # After the commit and before its answer: what is said to be durable is at its path.
            self._files.check(self._connection)

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        with closing(open_reader(self._path, self._busy_seconds)) as connection:
            try:
                yield connection
            except sqlite3.Error as error:
                raise StoreUnavailable(f"the database can't be read ({error})") from error


def _free(path: Path) -> int:
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return 0
