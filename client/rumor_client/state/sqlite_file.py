"""The state file itself: how it is found, opened, made, renewed and set aside.

A file that is damaged, or of an older version that this release doesn't know, is renamed to
`NAME.set-aside-N`, with one warning, and the app goes on with an empty state: no consent, nothing
to send. A database of another program, or of a later release, is never touched: then the state is
unavailable. A denial deletes what was set aside too. Whoever only looks opens the file `as_found`,
which makes nothing and renames nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from rumor_client.errors import ConfigurationError, StateUnavailable
from rumor_client.process.log_once import log_once
from rumor_client.state.grant_file import GrantFile
from rumor_client.state.protocol import LOCK_WAIT
from rumor_client.state.sqlite_schema import Origin, complete, create, header_is_damaged, origin
from rumor_client.state.sqlite_transaction import Connection, Damaged, SqliteTransaction

# What SQLite keeps beside the file: the log and its index.
_COMPANIONS = ("-wal", "-shm", "-journal")
_ASIDE = ".set-aside-"

# Primary result codes, https://sqlite.org/rescode.html: `sqlite3` names them from 3.11 on only.
HELD = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_REFUSED = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_ERROR})


class SqliteFile:
    """The state file at `path`, which is bound to where it is now, whatever the process does later.

    Raises ConfigurationError for a path that names no place.
    """

    def __init__(self, path: str | os.PathLike[str], *, as_found: bool) -> None:
        self.path = _bound(os.fspath(path))
        self.grant_file = GrantFile(self.path)
        self._as_found = as_found

    def inode(self) -> tuple[int, int] | None:
        """Return which file lies at the path, None where there is none. Raises OSError."""
        try:
            found = os.stat(self.path)  # noqa: PTH116 - a Path costs five times the call, per record
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def may_exist(self) -> bool:
        """Return whether there may be a file: what can't be looked at is met when it is opened."""
        try:
            return self.inode() is not None
        except OSError:
            return True

    def connect(self) -> sqlite3.Connection:
        """Open the file, which is made if need be. Raises StateUnavailable, sqlite3.Error, OSError.

        A damaged file is set aside first, and an erasure that is pending is finished.
        """
        if not self._as_found:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self._open()
        if isinstance(found, Origin):
            self.set_aside(found)
            found = self._open()
        if isinstance(found, Origin):
            raise StateUnavailable("a new state file can't be made")
        return found

    def _open(self) -> sqlite3.Connection | Origin:
        if not self._as_found:
            with suppress(FileExistsError):
                # Before SQLite does, which would make it readable by all; -wal and -shm follow it.
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with ExitStack() as on_failure:
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=rw",
                timeout=LOCK_WAIT,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
            on_failure.callback(connection.close)
            try:
                found = self._origin(connection)
                if found is Origin.OURS:
                    self._prepare(connection)
                    on_failure.pop_all()
                    return connection
            except sqlite3.DatabaseError as error:
                if self.is_damage(error):
                    return Origin.DAMAGED
                raise
        if found in (Origin.FOREIGN, Origin.LATER_VERSION):
            raise StateUnavailable(f"the file is {found.value}, and is left as it is")
        return found

    def is_damage(self, error: sqlite3.Error) -> bool:
        """Return whether an error says that the file is damaged."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return code in _BROKEN or (code in _REFUSED and header_is_damaged(self.path))

    def _origin(self, connection: sqlite3.Connection) -> Origin:
        found = origin(connection)
        if found is Origin.EMPTY and not self._as_found:
            connection.execute("PRAGMA journal_mode = WAL")
            create(connection)
            found = origin(connection)
        return found

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self.path.chmod(0o600)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")
        complete(connection)
        with suppress(sqlite3.OperationalError):
            # No room yet, or another process is at it: until then the missing file denies.
            self._finish_denial(connection)
        self.finish_erasure(connection)

    def finish_erasure(self, connection: Connection) -> bool:
        """Delete what was set aside, and cut the log to nothing, if deleted bytes may be in them.

        Returns False where a reader was in the way, or a file could not be deleted.
        """
        if not erasure_is_pending(connection):
            return True
        try:
            for aside in self._set_aside():
                aside.unlink(missing_ok=True)
        except OSError:
            return False
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            return False
        connection.execute("UPDATE device SET erasure_pending = 0")
        return True

    def _finish_denial(self, connection: sqlite3.Connection) -> None:
        transaction = SqliteTransaction(connection, self.grant_file)
        if not (transaction.denial_pending() or transaction.grants_unmarked()):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            if transaction.denial_pending():
                transaction.finish_denial()
            else:
                transaction.renew_grants()
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def set_aside(self, found: Origin) -> None:
        """Rename the file and what belongs to it. Raises StateUnavailable, OSError."""
        if self._as_found:
            raise StateUnavailable(f"the file is {found.value}, and is left as it is")
        number = 1 + len(list(self._set_aside()))
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

    def _set_aside(self) -> Iterator[Path]:
        # Not `glob`, to which some names are patterns.
        if self.path.parent.is_dir():
            for found in self.path.parent.iterdir():
                if found.name.startswith(f"{self.path.name}{_ASIDE}"):
                    yield found


def erasure_is_pending(connection: Connection) -> bool:
    """Return whether deleted bytes may still be in the log. Raises Damaged."""
    row = connection.execute("SELECT erasure_pending FROM device").fetchone()
    if row is None:
        raise Damaged("a row is missing")
    return bool(row[0])


def _bound(path: str) -> Path:
    """Return the absolute path that `path` means now. Raises ConfigurationError."""
    if not path:
        raise ConfigurationError("state", "is empty", "give the path of a file")
    if "\0" in path:
        raise ConfigurationError("state", "holds a null character", "give the path of a file")
    expanded = os.path.expanduser(path)  # noqa: PTH111 - a Path's raises where there is no home
    if expanded.startswith("~"):
        raise ConfigurationError(
            "state", "begins with ~ and there is no such home", "give an absolute path"
        )
    try:
        return Path(os.path.abspath(expanded))  # noqa: PTH100 - a link may be moved, as before
    except OSError:
        raise ConfigurationError(
            "state", "is relative, and the working directory is gone", "give an absolute path"
        ) from None
