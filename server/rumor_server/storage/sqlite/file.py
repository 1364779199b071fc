"""Open a SQLite file of ours: durable, private to its owner, and never one that is not ours."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from rumor_server.errors import StoreError, StoreUnavailable, UnknownSchema
from rumor_server.ingestion.keyed_hashes import new_key
from rumor_server.storage.migrations import check_version, steps
from rumor_shared.os_errors import explain

# "RUMR": tells our files from any other program's.
APPLICATION_ID = 0x52554D52
STEPS = tuple(steps("sqlite"))
# An index of all open days' ids outgrows SQLite's default of 2 MB at once. 16 MiB are full after
# 400,000 of them, and a process grows no more: 105 MB at 4 x 10^5 reports and at 2 x 10^6. With
# 64 MiB it went on to 139 MB, and a batch took a tenth less CPU at a million.
_CACHE_KIB = 16 * 1024
# A long reader lets the write-ahead file grow; it shrinks to this when the reader is done.
_WAL_BYTES = 64 << 20


def open_writer(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Return the connection that writes, with the schema in place, in autocommit mode.

    A new file is made with its schema, readable by its owner alone. Raises UnknownSchema for a file
    that isn't ours or of another version, before anything in it changes; StoreError where it can't
    be opened. Every message names the file.
    """
    found = version(path)
    if found:
        _check_version(path, found)
    connection = _open(path, busy_seconds)
    try:
        if not found:
            _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def check_place(path: Path) -> None:
    """Return if a database is at `path` or may be made there. Raises StoreError."""
    folder = path.absolute().parent
    try:
        if path.is_dir():
            raise StoreError(f"{path}: is a folder; give a file")
        if path.exists():
            if not path.is_file():
                raise StoreError(f"{path}: is no plain file; give another path")
        elif not folder.is_dir():
            raise StoreError(f"{folder}: there is no such folder; make it, or give another path")
    except OSError as error:
        raise StoreError(explain(error)) from None


def check_made(path: Path) -> None:
    """Return if a database of ours is at `path`, of a version that this program can read.

    For what must not make one. Raises StoreError, UnknownSchema.
    """
    if not version(path):
        raise StoreError(f"{path}: there is no such database; check the path")


def _open(path: Path, busy_seconds: float) -> sqlite3.Connection:
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
        except BaseException:
            connection.close()
            raise
    except OSError as error:
        raise StoreError(explain(error)) from None
    except sqlite3.Error as error:
        raise StoreError(
            f"{path}: the database can't be opened ({error}); check its rights and its disk"
        ) from None
    return connection


def open_reader(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Return a connection that can only read, for one query. Raises StoreUnavailable."""
    try:
        return sqlite3.connect(
            path.absolute().as_uri() + "?mode=ro",
            timeout=busy_seconds,
            isolation_level=None,
            uri=True,
        )
    except sqlite3.Error as error:
        check_place(path)
        raise StoreUnavailable(f"{path}: the database can't be read ({error}); try again") from None


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the schema, 0 for a file without any. Raises UnknownSchema."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if not tables and not application and not version:
        return 0
    if application != APPLICATION_ID:
        raise UnknownSchema(f"{path}: belongs to another program; give another path")
    if "collector" not in tables:
        # A device's state bears the same mark.
        raise UnknownSchema(f"{path}: is no database of a collector; give another path")
    return int(version)


def upgrade(path: Path, busy_seconds: float = 5.0) -> tuple[int, int]:
    """Bring the file to this program's version, each step in one transaction; make it if absent.

    Returns the versions before and after. Raises UnknownSchema, and StoreError where it can't be
    opened.
    """
    before = version(path)
    with contextlib.closing(_open(path, busy_seconds)) as connection:
        _migrate(connection, path)
        return before, _version(connection, path)


def version(path: Path) -> int:
    """Return the version of the file's schema, 0 where it is absent.

    Raises UnknownSchema, and StoreError where there is no place for one.
    """
    check_place(path)
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with contextlib.closing(open_reader(path, 1.0)) as connection:
        try:
            found = _version(connection, path)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
                raise StoreError(f"{path}: the database can't be read ({error})") from None
            raise UnknownSchema(
                f"{path}: is not a SQLite database; give another path or move it away"
            ) from None
    if found > len(STEPS):
        _check_version(path, found)
    return found


def _check_version(path: Path, found: int) -> None:
    try:
        check_version(found, len(STEPS))
    except UnknownSchema as error:
        raise UnknownSchema(f"{path}: {error}") from None


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Run the steps that are missing; of several processes the first one does."""
    for number, script in enumerate(STEPS, 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _version(connection, path) < number:
                for statement in _statements(script):
                    connection.execute(statement)
                if number == 1:
                    connection.execute("INSERT INTO collector VALUES (1, ?, 0)", (new_key(),))
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _statements(script: str) -> list[str]:
    """Split a script, which `executescript` would run outside of the transaction."""
    statements, part = [], ""
    for line in script.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            statements.append(part)
            part = ""
    return statements
