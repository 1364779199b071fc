"""The operator's own tables (keys, limits, registry in force), on either database by the same SQL.

They stand beside the store's tables in one database, so that every process sees the same. Nothing
here is on the path of a report: a process takes a share of a limit at a time, and keeps keys for
some seconds.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Protocol

from rumor_server.errors import StoreUnavailable, UnknownSchema
from rumor_server.settings import Settings

VERSION = 1
# PostgreSQL's advisory lock of our migrations: "RUMORCTL" as a number, any constant would do.
_MIGRATION_LOCK = 0x52554D4F5243544C


class _Cursor(Protocol):
    def fetchall(self) -> list[Any]: ...


class Statements:
    """One transaction: `?` marks a parameter whatever the database."""

    def __init__(self, connection: Any, mark: str) -> None:
        self._connection = connection
        self._mark = mark

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query, or of a statement with RETURNING."""
        cursor: _Cursor = self._connection.execute(sql.replace("?", self._mark), parameters)
        return [tuple(row) for row in cursor.fetchall()]

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement that returns nothing."""
        self._connection.execute(sql.replace("?", self._mark), parameters)


class Control:
    """The operator's tables in the database of `settings`, made if they are absent.

    Any thread may use it; one transaction runs at a time. Everything raises StoreUnavailable where
    the database can't be used, and UnknownSchema for tables of another version. The store has to be
    opened first: it knows a database that isn't ours.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._postgres = bool(settings.database_url)
        self._connection: Any = None
        try:
            with self.transaction() as statements:
                self._migrate(statements)
        except BaseException:
            self.close()
            raise

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._settings

    @contextmanager
    def transaction(self, *, reads_only: bool = False) -> Iterator[Statements]:
        """Run statements in one transaction.

        On SQLite no other writer comes between, unless it `reads_only`: then it waits for nobody.
        """
        with self._lock:
            try:
                connection = self._connected()
                plain = reads_only or self._postgres
                connection.execute("BEGIN" if plain else "BEGIN IMMEDIATE")
                try:
                    yield Statements(connection, "%s" if self._postgres else "?")
                    connection.commit()
                except BaseException:
                    connection.rollback()
                    raise
            except self._errors() as error:
                # A connection that failed may be dead for good; the next use makes a new one.
                self._drop()
                raise StoreUnavailable(
                    f"the operator's tables can't be used ({type(error).__name__}); "
                    "see `rumor doctor`"
                ) from error

    def close(self) -> None:
        """Release the database."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Any:
        if self._connection is None:
            if self._postgres:
                # An extra that a collector on SQLite doesn't need.
                from rumor_server.storage.postgres.connection import connect

                self._connection = connect(self._settings.database_url, self._settings.busy_seconds)
            else:
                self._connection = sqlite3.connect(
                    self._settings.database,
                    timeout=self._settings.busy_seconds,
                    isolation_level=None,
                    check_same_thread=False,
                )
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.execute("PRAGMA secure_delete = ON")
        return self._connection

    def _errors(self) -> tuple[type[Exception], ...]:
        if self._postgres:
            import psycopg

            return (psycopg.Error, OSError)
        return (sqlite3.Error, OSError)

    def _migrate(self, statements: Statements) -> None:
        if self._postgres:
            statements.run("SELECT pg_advisory_xact_lock(?)", (_MIGRATION_LOCK,))
        if not self._is_made(statements):
            self._make(statements)
        ((version,),) = statements.rows("SELECT version FROM control_schema")
        if version != VERSION:
            raise UnknownSchema(
                f"the operator's tables have version {version}, and this program knows {VERSION}; "
                "install the version of Rumor that wrote them"
            )

    def _is_made(self, statements: Statements) -> bool:
        catalogue = "pg_class WHERE relname" if self._postgres else "sqlite_schema WHERE name"
        return bool(statements.rows(f"SELECT 1 FROM {catalogue} = 'control_schema'"))  # noqa: S608 - our own words

    def _make(self, statements: Statements) -> None:
        script = files("rumor_server.storage").joinpath("operator_tables.sql").read_text("utf-8")
        bare = "\n".join(line for line in script.splitlines() if not line.startswith("--"))
        for statement in bare.split(";"):
            if statement.strip():
                statements.run(statement)
        statements.run("INSERT INTO control_schema VALUES (1, ?)", (VERSION,))
