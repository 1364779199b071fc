"""The SQLite state store: one file, safe between threads, processes and forks.

The file is the owner's alone (mode 0600), written ahead (WAL) with one sync a commit
(`synchronous=FULL`), and overwrites what it deletes (`secure_delete=ON`). One connection serves all
threads of the process, in turn; it is closed before a fork and opened again when next needed.

A file that is damaged or of an unknown version is renamed to `NAME.set-aside-N`, with one warning,
and the app goes on with an empty state: no consent, nothing to send. A database of another program
is never touched: then the state is unavailable. A denial deletes what was set aside too. Whoever
only looks opens the file `as_found`, which makes nothing and renames nothing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from pathlib import Path
from time import monotonic

from rumor_client.errors import StateBusy, StateUnavailable
from rumor_client.process import fork
from rumor_client.process.log_once import log_once
from rumor_client.state.file_lock import file_lock
from rumor_client.state.protocol import LOCK_WAIT
from rumor_client.state.sqlite_schema import Origin, create, origin
from rumor_client.state.sqlite_transaction import SqliteTransaction

# What SQLite keeps beside the file: the log, its index, and our lock for uploads.
_COMPANIONS = ("-wal", "-shm", "-journal")
_UPLOAD_SUFFIX = ".upload"
_ASIDE = ".set-aside-"

# Primary result codes, https://sqlite.org/rescode.html: `sqlite3` names them from 3.11 on only.
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class SqliteState:
    """The state in the file `path`, which is made, with its folder, when first written to.

    With `as_found`, a file that isn't there, or that can't be used, is left so: StateUnavailable.
    """

    def __init__(self, path: str | os.PathLike[str], *, as_found: bool = False) -> None:
        self._connection: sqlite3.Connection | None = None
        self.path = Path(path)
        self._as_found = as_found
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._opened: tuple[int, int] | None = None
        fork.watch(self)

    @contextmanager
    def transaction(self, wait: float = LOCK_WAIT) -> Iterator[SqliteTransaction]:
        """Begin a transaction with BEGIN IMMEDIATE; see `State.transaction`."""
        with self._connected(wait) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteTransaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                # After some faults, a full disk among them, SQLite has rolled back by itself.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def choices(self) -> Mapping[str, tuple[str, date]]:
        """Return the stored choices; see `State.choices`."""
        if self._connection is None and not self._made():
            return {}
        with self._connected(LOCK_WAIT) as connection:
            return SqliteTransaction(connection).choices()

    @contextmanager
    def upload_turn(self) -> Iterator[bool]:
        """Take the turn to upload among all processes; see `State.upload_turn`."""
        if not self._turn.acquire(blocking=False):
            yield False
            return
        try:
            with file_lock(self.path.with_name(self.path.name + _UPLOAD_SUFFIX)) as mine:
                yield mine
        finally:
            self._turn.release()

    def scrub(self) -> bool:
        """Move the log into the file and cut it to nothing; see `State.scrub`."""
        for aside in self.path.parent.glob(f"{self.path.name}{_ASIDE}*"):
            aside.unlink(missing_ok=True)
        with self._connected(LOCK_WAIT) as connection:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                return False
            connection.execute("UPDATE device SET erasure_pending = 0")
            return True

    def erasure_pending(self) -> bool:
        """Return whether a denial's deletion is still in the log."""
        if self._connection is None and not self._made():
            return False
        with self._connected(LOCK_WAIT) as connection:
            (pending,) = connection.execute("SELECT erasure_pending FROM device").fetchone()
            return bool(pending)

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            self._disconnect()

    def __del__(self) -> None:
        # An app that ends without `close` is no reason for Python 3.13's ResourceWarning.
        self._disconnect()

    def before_fork(self) -> None:
        """Close the connection, which must not cross a fork, and hold the lock across it."""
        self._lock.acquire()
        self._disconnect()

    def after_fork(self, *, child: bool) -> None:
        """Go on; the child with locks of its own."""
        if child:
            self._lock = threading.Lock()
            self._turn = threading.Lock()
        else:
            self._lock.release()

    def _made(self) -> bool:
        """Return whether there may be a file: what can't be looked at is met when it is opened."""
        try:
            return _inode(self.path) is not None
        except OSError:
            return True

    @contextmanager
    def _connected(self, wait: float) -> Iterator[sqlite3.Connection]:
        deadline = monotonic() + wait
        if not self._lock.acquire(timeout=wait):
            raise StateBusy(wait)
        try:
            connection = self._connect()
            left = max(0, int(1000 * (deadline - monotonic())))
            connection.execute(f"PRAGMA busy_timeout = {left}")
            yield connection
        except sqlite3.Error as error:
            self._translate(error, wait)
        except OSError as error:
            raise StateUnavailable(error.strerror or type(error).__name__) from None
        finally:
            self._lock.release()

    def _translate(self, error: sqlite3.Error, wait: float) -> None:
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in _BUSY:
            raise StateBusy(wait) from None
        if primary is None:
            raise error
        self._disconnect()
        if primary in _BROKEN:
            self._set_aside(Origin.DAMAGED)
        raise StateUnavailable(str(error)) from None

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None:
            if self._opened == _inode(self.path):
                return self._connection
            # Someone deleted or replaced the file: what is written here would be lost unseen.
            self._disconnect()
        if not self._as_found:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self._open()
        if found is not Origin.OURS:
            self._set_aside(found)
            if self._open() is not Origin.OURS:
                raise StateUnavailable("a new state file can't be made")
        connection = self._connection
        if connection is None:
            raise StateUnavailable("the file could not be opened")
        return connection

    def _open(self) -> Origin:
        if not self._as_found:
            with suppress(FileExistsError):
                # Before SQLite does, which would make it readable by all; -wal and -shm follow it.
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with ExitStack() as on_failure:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw",
                timeout=LOCK_WAIT,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
            on_failure.callback(connection.close)
            try:
                found = origin(connection)
                if found is Origin.EMPTY and not self._as_found:
                    connection.execute("PRAGMA journal_mode = WAL")
                    create(connection)
                    found = origin(connection)
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _BROKEN:
                    raise
                found = Origin.DAMAGED
            if found is Origin.FOREIGN:
                raise StateUnavailable("the file is a database of another program; name another")
            if found is not Origin.OURS:
                return found
            self.path.chmod(0o600)
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                connection.execute(f"PRAGMA {pragma}")
            self._finish_erasure(connection)
            on_failure.pop_all()
        self._connection, self._opened = connection, _inode(self.path)
        return Origin.OURS

    def _finish_erasure(self, connection: sqlite3.Connection) -> None:
        (pending,) = connection.execute("SELECT erasure_pending FROM device").fetchone()
        if pending:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                connection.execute("UPDATE device SET erasure_pending = 0")

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _set_aside(self, found: Origin) -> None:
        if self._as_found:
            raise StateUnavailable(f"the file is {found.value}, and is left as it is")
        number = 1 + len(list(self.path.parent.glob(f"{self.path.name}{_ASIDE}*")))
        aside = self.path.with_name(f"{self.path.name}{_ASIDE}{number}")
        for suffix in ("", *_COMPANIONS):
            with suppress(FileNotFoundError):
                source = self.path.with_name(self.path.name + suffix)
                source.rename(aside.with_name(aside.name + suffix))
        log_once(
            "set aside",
            f"rumor: the state file was {found.value}; it is now {aside.name}, and a new one starts"
            " without consent",
        )


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path costs five times the call, per record
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
