"""Tallies out of a PostgreSQL database and into it: the statements of `Transfer`.

What is merged is appended like a commit's deltas, and folded by the same compaction. It needs no
lock of commits: whose reports are added is settled by the primary key of `merged`, and nobody who
holds that lock alone depends on what is appended. With it, whoever wanted it alone waited for a
merge of ten million cells, and all commits behind him: they failed after 5 s each, and none does
without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date

import psycopg
from psycopg import IsolationLevel, errors

from rumor_server.errors import StoreError, StoreUnavailable
from rumor_server.storage.postgres.connection import Connection, check, connect
from rumor_server.storage.postgres.statements import append_deltas
from rumor_server.storage.tally_rows import TallyRow
from rumor_server.storage.tally_transfer import Chunk, Claim, Declared


class PostgresTransfer:
    """A `Transfer` within a transaction of `connection`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def collector(self) -> tuple[bytes, date]:
        """Return the key of report ids, and the last closed day; see `Transfer.collector`."""
        row = self._connection.execute("SELECT id_key, closed_through FROM collector").fetchone()
        if row is None:
            raise StoreError("the database has lost its collector's row; restore a backup")
        return row[0], row[1]

    def declared(self) -> list[Declared]:
        """Return every revision of every metric; see `Transfer.declared`."""
        rows = self._connection.execute(
            "SELECT series, metric, revision, fingerprint, registry FROM series"
        )
        return [Declared(*row) for row in rows]

    def registry(self, sha256: str) -> bytes:
        """Return a registry; see `Transfer.registry`."""
        ((body,),) = self._connection.execute(
            "SELECT body FROM registries WHERE sha256 = %s", (sha256,)
        ).fetchall()
        return bytes(body)

    def chunks(self, series: int, last: date) -> Iterator[Chunk]:
        """Return what is counted up to a day, folded or not; see `Transfer.chunks`."""
        part = "SELECT day, cohort, chunk, reports, cells FROM {} WHERE series = %s AND day <= %s"
        both = f"{part.format('tallies')} UNION ALL {part.format('deltas')}"
        yield from self._connection.execute(both.encode(), (series, last) * 2, binary=True)

    def sources(self, series: int) -> Iterator[tuple[date, bytes]]:
        """Return whose reports were merged into a series; see `Transfer.sources`."""
        yield from self._connection.execute(
            "SELECT day, source FROM merged WHERE series = %s", (series,)
        )

    def claim(self, claims: Sequence[Claim]) -> set[Claim]:
        """Remember whose reports are to be added; see `Transfer.claim`.

        Of several processes with the same claim the first one gets it; the others wait for its end.
        """
        if not claims:
            return set()
        rows = self._connection.execute(
            "INSERT INTO merged SELECT * FROM unnest(%b::int4[], %b::date[], %b::bytea[]) "
            "ON CONFLICT DO NOTHING RETURNING series, day, source",
            [list(column) for column in zip(*claims, strict=True)],
        )
        return {(series, day, source) for series, day, source in rows}

    def add(self, rows: Iterable[TallyRow]) -> None:
        """Append to the deltas of tallies; see `Transfer.add`."""
        append_deltas(self._connection, rows)


@contextmanager
def reading(url: str, busy_seconds: float) -> Iterator[PostgresTransfer]:
    """Read one moment of a database. Raises StoreUnavailable, UnknownSchema."""
    with _connected(url, busy_seconds) as connection:
        # Compaction and other merges run beside: every statement has to see the same of them.
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        with connection.transaction():
            yield PostgresTransfer(connection)


@contextmanager
def writing(url: str, busy_seconds: float) -> Iterator[PostgresTransfer]:
    """Write to a database beside its collectors: all or nothing.

    Raises UnknownSchema, and StoreUnavailable where another merge of the same reports takes more
    than `busy_seconds`.
    """
    with _connected(url, busy_seconds) as connection, connection.transaction():
        yield PostgresTransfer(connection)


@contextmanager
def _connected(url: str, busy_seconds: float) -> Iterator[Connection]:
    try:
        with connect(url, busy_seconds) as connection:
            check(connection)
            connection.silent_seconds = Connection.silent_seconds
            yield connection
    except (errors.DeadlockDetected, errors.LockNotAvailable) as error:
        raise StoreUnavailable("the database is locked; try again") from error
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"the database can't be used ({type(error).__name__}); try again"
        ) from error
