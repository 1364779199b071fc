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
from typing import Any, Protocol

from rumor_server.errors import StoreUnavailable
from rumor_server.settings import Settings


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
    """The operator's tables in the database of `settings`.

    Any thread may use it; one transaction runs at a time. Everything raises StoreUnavailable where
    the database can't be used. The store has to be opened first: it makes a file with its schema,
    and knows a database that isn't ours.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._postgres = bool(settings.database_url)
        self._connection: Any = None

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
