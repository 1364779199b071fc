"""Open a SQLite file of ours: durable, private to its owner, and never one that is not ours."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from rumor_server.errors import StoreError, StoreUnavailable, UnknownSchema
from rumor_server.ingestion.digest import new_key
from rumor_server.storage.migrations import check_version, steps

# "RUMR": tells our files from any other program's.
APPLICATION_ID = 0x52554D52
STEPS = tuple(steps("sqlite"))
# An index of all open days' ids outgrows SQLite's default of 2 MB at once. 16 MiB are full after
# 400,000 of them, and a process grows no more: 105 MB at 4 x 10^5 reports and at 2 x 10^6. With 64 MiB
# it went on to 139 MB, and a batch took a tenth less CPU at a million.
_CACHE_KIB = 16 * 1024
# A long reader lets the write-ahead file grow; it shrinks to this when the reader is done.
_WAL_BYTES = 64 << 20


def open_writer(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Return the connection that writes, with the schema in place, in autocommit mode.

    A new file is made with its schema, readable by its owner alone. Raises UnknownSchema for a file
    that isn't ours or of another version, before anything in it changes; StoreError where it can't
    be opened.
    """
    found = version(path)
    if found:
        check_version(found, len(STEPS))
    connection = _open(path, busy_seconds)
    if not found:
        _migrate(connection)
    return connection


def _open(path: Path, busy_seconds: float) -> sqlite3.Connection:
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"the database can't be opened ({error}); check its path and disk"
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
        raise StoreUnavailable(f"the database can't be read ({error}); try again") from None


def _version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema, 0 for a file without any. Raises UnknownSchema."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not tables and not application and not version:
        return 0
    if application != APPLICATION_ID:
        raise UnknownSchema("the file belongs to another program; give another path")
    return int(version)


def upgrade(path: Path, busy_seconds: float = 5.0) -> tuple[int, int]:
    """Bring the file to this program's version, each step in one transaction; make it if absent.

    Returns the versions before and after. Raises UnknownSchema, and StoreError where it can't be
    opened.
    """
    before = version(path)
    with contextlib.closing(_open(path, busy_seconds)) as connection:
        _migrate(connection)
        return before, _version(connection)


def version(path: Path) -> int:
    """Return the version of the file's schema, 0 where it is absent. Raises UnknownSchema."""
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with contextlib.closing(open_reader(path, 1.0)) as connection:
        try:
            found = _version(connection)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
                raise StoreError(f"the database can't be read ({error})") from None
            raise UnknownSchema(
                "the file is not a SQLite database; give another path or move it away"
            ) from None
    if found > len(STEPS):
        check_version(found, len(STEPS))
    return found


def _migrate(connection: sqlite3.Connection) -> None:
    """Run the steps that are missing; of several processes the first one does."""
    for number, script in enumerate(STEPS, 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _version(connection) < number:
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
