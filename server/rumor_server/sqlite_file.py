"""Open a SQLite file of ours: durable, private to its owner, and never one that is not ours."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from importlib.resources import files
from pathlib import Path

from rumor_server.digest import new_key
from rumor_server.errors import StoreError, StoreUnavailable, UnknownSchema

# "RUMR": tells our files from any other program's.
APPLICATION_ID = 0x52554D52
SCHEMA_VERSION = 1
# An index of all open days' ids outgrows SQLite's default of 2 MB at once; 64 MiB hold a million
# of them.
_CACHE_KIB = 64 * 1024
# A long reader lets the write-ahead file grow; it shrinks to this when the reader is done.
_WAL_BYTES = 64 << 20


def open_writer(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Return the connection that writes, with the schema in place, in autocommit mode.

    A new file is readable by its owner alone. Raises UnknownSchema for a file that isn't ours or
    of another version, before anything in it changes; StoreError where it can't be opened.
    """
    try:
        _check(path)
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
        _migrate(connection)
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


def _check(path: Path) -> None:
    """Raise UnknownSchema unless the file is absent, empty, or ours; change nothing in it."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with contextlib.closing(open_reader(path, 1.0)) as connection:
        try:
            _version(connection)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
                raise
            raise UnknownSchema(
                "the file is not a SQLite database; give another path or move it away"
            ) from None


def _version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema, 0 for a file without any. Raises UnknownSchema."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not tables and not application and not version:
        return 0
    if application != APPLICATION_ID:
        raise UnknownSchema("the file belongs to another program; give another path")
    if version != SCHEMA_VERSION:
        raise UnknownSchema(
            f"the database has schema version {version}, and this program knows {SCHEMA_VERSION}; "
            "install the version of Rumor that wrote it"
        )
    return int(version)


def _migrate(connection: sqlite3.Connection) -> None:
    """Create the schema in one transaction; of several processes the first one does."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) == 0:
            schema = files("rumor_server").joinpath("sqlite_schema.sql").read_text("utf-8")
            for statement in _statements(schema):
                connection.execute(statement)
            connection.execute("INSERT INTO collector VALUES (1, ?, 0)", (new_key(),))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
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
