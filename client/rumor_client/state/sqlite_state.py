"""The SQLite state store: one file, safe between threads, processes and forks.

The file is the owner's alone (mode 0600), written ahead (WAL) with one sync a commit
(`synchronous=FULL`), and overwrites what it deletes (`secure_delete=ON`). One connection serves all
threads of the process, in turn; it is closed before a fork and opened again when next needed.

A commit waits for the disk, some milliseconds: two hundred threads that took turns would mostly
give up after their 250 ms. So `run` puts a work in a queue, and whoever gets the lock does all that
wait, each behind a savepoint of its own, and commits once; the others find theirs done. Nobody is
told of a work before its commit.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar

from rumor_client.errors import StateBusy, StateUnavailable
from rumor_client.process.fork import FORK_LOCK
from rumor_client.state.file_lock import file_lock
from rumor_client.state.protocol import LOCK_WAIT, Transaction
from rumor_client.state.sqlite_file import (
    HELD,
    SqliteFile,
    erasure_is_pending,
)
from rumor_client.state.sqlite_schema import Origin
from rumor_client.state.sqlite_transaction import SqliteTransaction

T = TypeVar("T")

_UPLOAD_SUFFIX = ".upload"
# How long a thread waits for the disk where another is committing its work for it.
_COMMIT_WAIT = 5.0
# A bound on what one commit holds back; a work takes a tenth of a millisecond.
_LARGEST_GROUP = 256


# Files with a connection that a fork caught at work. SQLite believes that this process holds that
# connection's locks, and would write without any; to close it here would undo the parent's work.
# https://sqlite.org/howtocorrupt.html, section 2.6.
_cut_off: set[tuple[int, int]] = set()


class SqliteState:
    """The state in the file `path`, which is made, with its folder, when first written to.

    With `as_found`, a file that isn't there, or that can't be used, is left so: StateUnavailable.
    Raises ConfigurationError for a path that names no place.
    """

    def __init__(self, path: str | os.PathLike[str], *, as_found: bool = False) -> None:
        self._connection: sqlite3.Connection | None = None
        self._fork_lock = FORK_LOCK
        self._file = SqliteFile(path, as_found=as_found)
        self._opened: tuple[int, int] | None = None
        self._renew()
        FORK_LOCK.watch(self)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._works: deque[_Work[Any]] = deque()

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self._file.path

    @contextmanager
    def transaction(self, wait: float = LOCK_WAIT) -> Iterator[SqliteTransaction]:
        """Begin a transaction with BEGIN IMMEDIATE; see `State.transaction`."""
        with self._connected(wait) as connection, _committed(connection):
            yield SqliteTransaction(connection, self._file.grant_file)

    def run(self, work: Callable[[Transaction], T], wait: float = LOCK_WAIT) -> T:
        """Do `work` in a transaction that other threads' works may share; see `State.run`."""
        mine = _Work(work)
        self._works.append(mine)
        try:
            with self._connected(wait) as connection:
                while not mine.done:
                    self._run_group(connection)
        except StateBusy:
            try:
                self._works.remove(mine)
            except ValueError:
                # Another thread is at it: what it commits must not be called busy.
                lock = self._lock
                if lock.acquire(timeout=_COMMIT_WAIT):
                    lock.release()
            else:
                raise
        return mine.result()

    def _run_group(self, connection: _Connection) -> None:
        """Do the works that wait, and commit them together."""
        group: list[_Work[Any]] = []
        try:
            with _committed(connection):
                # Only now, so that a lock of another process makes nobody busy but who waited.
                while self._works and len(group) < _LARGEST_GROUP:
                    group.append(self._works.popleft())
                transaction = SqliteTransaction(connection, self._file.grant_file)
                for work in group:
                    work.do(connection, transaction, alone=len(group) == 1)
        except BaseException as error:
            for work in group:
                work.fail(error)
            raise
        for work in group:
            work.done = True

    def choices(self, wait: float = LOCK_WAIT) -> Mapping[str, tuple[str, date]]:
        """Return the stored choices; see `State.choices`."""
        if self._connection is None and not self._file.may_exist():
            return {}
        with self._connected(wait) as connection:
            return SqliteTransaction(connection, self._file.grant_file).choices()

    @contextmanager
    def upload_turn(self) -> Iterator[bool]:
        """Take the turn to upload among all processes; see `State.upload_turn`."""
        turn = self._turn
        if not turn.acquire(blocking=False):
            yield False
            return
        try:
            with file_lock(self.path.with_name(self.path.name + _UPLOAD_SUFFIX)) as mine:
                yield mine
        finally:
            turn.release()

    def revoke(self) -> bool:
        """Remove the grant file; see `State.revoke`."""
        with suppress(OSError, StateBusy, StateUnavailable):
            self._file.grant_file.remove()
            return all(choice != "granted" for choice, _ in self.choices().values())
        return False

    def scrub(self) -> bool:
        """Move the log into the file and cut it to nothing; see `State.scrub`."""
        with self._connected(LOCK_WAIT) as connection:
            return self._file.finish_erasure(connection)

    def erasure_pending(self) -> bool:
        """Return whether a denial's deletion is still in the log."""
        if self._connection is None and not self._file.may_exist():
            return False
        with self._connected(LOCK_WAIT) as connection:
            return erasure_is_pending(connection)

    def close(self) -> None:
        """Close the connection; the next use opens it again. One that is in use stays open."""
        with suppress(StateBusy, StateUnavailable), self._locked(LOCK_WAIT):
            self._disconnect()

    def __del__(self) -> None:
        # An app that ends without `close` is no reason for Python 3.13's ResourceWarning.
        # Handed over first: a fork at any moment finds it in one place or the other.
        if self._connection is not None:
            self._fork_lock.dispose(self._connection.close)
            self._connection = None

    def before_fork(self) -> None:
        """Close the connection, which must not cross a fork."""
        # Only a frame of this very thread can hold the lock now: its connection is abandoned then.
        if self._lock.acquire(blocking=False):
            try:
                self._disconnect()
            finally:
                self._lock.release()

    def after_fork(self, *, clean: bool) -> None:
        """Go on as the child, with locks of its own.

        A connection is left only where no hook ran before the fork, or a frame was using it or just
        opening it. One that was idle is closed: nothing of the parent's depends on it.
        """
        at_work, connection = self._lock.locked(), self._connection
        self._renew()
        self._connection = None
        if connection is not None and clean and not at_work:
            connection.close()
            return
        if connection is not None:
            FORK_LOCK.abandon(connection)
        if connection is not None or at_work:
            with suppress(OSError):
                _cut_off.update(filter(None, (self._opened, self._file.inode())))

    @contextmanager
    def _locked(self, wait: float) -> Iterator[None]:
        deadline = monotonic() + wait
        FORK_LOCK.enter(wait)
        try:
            lock = self._lock
            if not lock.acquire(timeout=max(0.0, deadline - monotonic())):
                raise StateBusy(wait)
            try:
                yield
            finally:
                lock.release()
        finally:
            FORK_LOCK.leave()

    @contextmanager
    def _connected(self, wait: float) -> Iterator[_Connection]:
        deadline = monotonic() + wait
        with self._locked(wait):
            try:
                connection = _Connection(self._connect())
                left = max(0, int(1000 * (deadline - monotonic())))
                connection.execute(f"PRAGMA busy_timeout = {left}")
                yield connection
            except sqlite3.Error as error:
                self._translate(error, wait)
            except OSError as error:
                raise StateUnavailable(error.strerror or type(error).__name__) from None

    def _translate(self, error: sqlite3.Error, wait: float) -> None:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in HELD:
            raise StateBusy(wait) from None
        self._disconnect()
        if self._file.is_damage(error):
            self._file.set_aside(Origin.DAMAGED)
        raise StateUnavailable(str(error)) from None

    def _connect(self) -> sqlite3.Connection:
        if _cut_off and self._file.inode() in _cut_off:
            raise StateUnavailable(
                "this process was forked in the middle of a transaction; start it anew"
            )
        if self._connection is not None:
            if self._opened == self._file.inode():
                return self._connection
            # Someone deleted or replaced the file: what is written here would be lost unseen.
            self._disconnect()
        connection = self._connection = self._file.connect()
        self._opened = self._file.inode()
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _Connection:
    """A connection that refuses whatever a fork cut in two: it belongs to the parent."""

    __slots__ = ("_connection", "_generation")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._generation = FORK_LOCK.generation

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        """Run a statement."""
        if FORK_LOCK.generation != self._generation:
            raise StateUnavailable("the process was forked in the middle of a transaction")
        return self._connection.execute(sql, values)

    def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
        """Run a statement for each row."""
        if FORK_LOCK.generation != self._generation:
            raise StateUnavailable("the process was forked in the middle of a transaction")
        return self._connection.executemany(sql, rows)

    @property
    def in_transaction(self) -> bool:
        """Whether there is something to roll back, and it is ours."""
        return FORK_LOCK.generation == self._generation and self._connection.in_transaction


@contextmanager
def _committed(connection: _Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # After some faults, a full disk among them, SQLite has rolled back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class _Work(Generic[T]):
    """What one thread wants to store, and what came of it."""

    __slots__ = ("_error", "_results", "_run", "done")

    def __init__(self, run: Callable[[Transaction], T]) -> None:
        self.done = False
        self._run = run
        self._error: BaseException | None = None
        self._results: list[T] = []

    def do(self, connection: _Connection, transaction: Transaction, *, alone: bool) -> None:
        """Do it: whole or not at all, whatever else is in the transaction.

        What it raises is kept for its thread; what SQLite raises ends the transaction.
        """
        if alone:
            self._results = [self._run(transaction)]
            return
        connection.execute("SAVEPOINT work")
        try:
            self._results = [self._run(transaction)]
        except sqlite3.Error:
            raise
        except Exception as error:
            self._error = error
            connection.execute("ROLLBACK TO work")
        connection.execute("RELEASE work")

    def fail(self, error: BaseException) -> None:
        """Say that the transaction came to nothing."""
        self.done = True
        if isinstance(error, sqlite3.Error):
            error = StateUnavailable(str(error))
        # An interrupt is for the thread that it hit: the others may try again.
        self._error = error if isinstance(error, Exception) else StateBusy(0.0)

    def result(self) -> T:
        """Return or raise what came of it."""
        if self._error is not None:
            raise self._error
        if not self.done:
            raise StateUnavailable("the disk did not answer in time")
        return self._results[0]
