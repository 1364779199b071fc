"""Connect to PostgreSQL and bring its schema `rumor` to this program's version, on demand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

from rumor_server.errors import StoreError, StoreUnavailable, UnknownSchema
from rumor_server.ingestion.keyed_hashes import new_key
from rumor_server.storage.migrations import EXPANDED, check_version, steps

STEPS = tuple(steps("postgres"))
# A commit waits no longer for a lock than for SQLite's; a query that takes this long is a fault.
_STATEMENT_SECONDS = 60
_CONNECT_SECONDS = 10
# Of one step of the upgrade.
_STEP_SECONDS = 6 * 3600.0

# What the other end bounds is bounded on ours too: a server behind a forgotten NAT flow or a paused
# pooler says nothing at all, not even that a statement took too long.
_SILENT_SECONDS = 10.0

Ready = TypeVar("Ready")


class Connection(psycopg.Connection[TupleRow]):
    """A connection on which no call waits for a silent server beyond its bound.

    Once one did, the connection is closed: nobody knows what became of the call.
    """

    # Beyond what it may wait for a lock, or, for a long query, beyond the server's own limit.
    silent_seconds = _STATEMENT_SECONDS + _SILENT_SECONDS

    def wait(self, gen: PQGen[Ready], *options: Any, **more: Any) -> Ready:
        """Wait for what `gen` asks of the server. Raises OperationalError when it is silent."""
        try:
            return super().wait(_bounded(gen, self.silent_seconds), *options, **more)
        except _Silent:
            self.pgconn.finish()
            raise psycopg.OperationalError(
                f"the database has said nothing for {self.silent_seconds:g} s"
            ) from None


class _Silent(Exception):
    """The server has said nothing for too long."""


def _bounded(gen: PQGen[Ready], seconds: float) -> PQGen[Ready]:
    """Yield what `gen` yields, and raise _Silent into the wait once it has taken so long."""
    deadline = time.monotonic() + seconds
    try:
        waits_for = next(gen)
        while True:
            ready = yield waits_for
            if not ready and time.monotonic() > deadline:
                gen.close()
                raise _Silent
            waits_for = gen.send(ready)
    except StopIteration as end:
        result: Ready = end.value
        return result


class Lock(IntEnum):
    """Advisory locks: "RUMR" in the upper half, so that they meet no other program's."""

    COMMIT = 0x52554D52_00000001
    COMPACT = 0x52554D52_00000002
    UPGRADE = 0x52554D52_00000003


def connect(url: str, busy_seconds: float) -> Connection:
    """Return a connection in autocommit mode. Raises StoreUnavailable, without the URL's password.

    A commit on it is answered when it is on the server's disk, whatever the server's default is.
    """
    try:
        connection = Connection.connect(url, autocommit=True, **options(busy_seconds))
        connection.silent_seconds = busy_seconds + _SILENT_SECONDS
        configure(connection)
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"PostgreSQL can't be reached ({type(error).__name__}); check the URL and the server"
        ) from None
    return connection


def options(busy_seconds: float) -> dict[str, Any]:
    """Return what every connection is opened with."""
    return {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "rumor",
        "client_encoding": "UTF8",
        "options": (
            f"-c lock_timeout={max(1, round(busy_seconds * 1000))} "
            f"-c statement_timeout={_STATEMENT_SECONDS * 1000} "
            "-c idle_in_transaction_session_timeout=60000"
        ),
    }


def configure(connection: Connection) -> None:
    """Have a fresh connection use our schema, and wait for the disk.

    What a database, a role or a server may set otherwise is set for the session.
    """
    connection.autocommit = True
    connection.execute(
        "SET search_path = rumor; SET synchronous_commit = on; SET timezone = 'UTC'; "
        "SET default_transaction_isolation = 'read committed'; "
        "SET default_transaction_deferrable = off; SET row_security = on; "
        "SET bytea_output = 'hex'; SET datestyle = 'ISO'; SET standard_conforming_strings = on"
    )


def check(connection: Connection) -> None:
    """Raise UnknownSchema, with what to do, unless this program can work on the schema."""
    check_version(version(connection), len(STEPS), EXPANDED)


def version(connection: Connection) -> int:
    """Return the version of the schema, 0 where there is none. Raises UnknownSchema."""
    # From the catalogue's tables: to_regclass() may remember what was so before a lock was had.
    names = connection.execute(
        "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE nspname = 'rumor' AND relkind = 'r'"
    ).fetchall()
    if not names:
        return 0
    if ("migrations",) not in names:
        raise UnknownSchema("the schema `rumor` belongs to another program; give another database")
    row = connection.execute("SELECT coalesce(max(version), 0) FROM rumor.migrations").fetchone()
    return int(row[0]) if row else 0


def upgrade(url: str, busy_seconds: float = 5.0, *, expand: bool = False) -> tuple[int, int]:
    """Bring the database to this program's version, each step in one transaction.

    With `expand`, no further than programs of the version before can work on.

    Returns the versions before and after. Raises UnknownSchema, and StoreUnavailable where the
    database can't be used.
    """
    with connect(url, busy_seconds) as connection, _faults():
        # A step may take as long as the tables that it changes are large.
        connection.silent_seconds = _STEP_SECONDS
        _check_encoding(connection)
        before = version(connection)
        if before > len(STEPS):
            check_version(before, len(STEPS))
        for number, script in enumerate(STEPS[:EXPANDED] if expand else STEPS, 1):
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (Lock.UPGRADE,))
                if version(connection) >= number:
                    continue
                if number == 1:
                    connection.execute("CREATE SCHEMA IF NOT EXISTS rumor")
                    connection.execute("CREATE TABLE rumor.migrations (version int PRIMARY KEY)")
                connection.execute(script.encode())
                if number == 1:
                    connection.execute(
                        "INSERT INTO collector VALUES (true, %s, '0001-01-01')", (new_key(),)
                    )
                connection.execute("INSERT INTO rumor.migrations VALUES (%s)", (number,))
        return before, version(connection)


def _check_encoding(connection: Connection) -> None:
    row = connection.execute("SHOW server_encoding").fetchone()
    if row != ("UTF8",):
        raise StoreError(
            "the database has another encoding than UTF-8; make one with ENCODING 'UTF8', and "
            "TEMPLATE template0 where the server's default is another"
        )


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"the database can't be upgraded ({error})") from error
