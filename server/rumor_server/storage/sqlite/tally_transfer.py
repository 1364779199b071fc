"""Tallies out of a SQLite file and into it: the statements of `Transfer`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

from rumor_server.errors import StoreError, StoreUnavailable
from rumor_server.storage.migrations import check_version
from rumor_server.storage.sqlite.file import STEPS, open_reader, open_writer, version
from rumor_server.storage.sqlite.statements import add_tallies
from rumor_server.storage.tally_rows import TallyRow
from rumor_server.storage.tally_transfer import Chunk, Claim, Declared


class SqliteTransfer:
    """A `Transfer` within a transaction of `connection`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def collector(self) -> tuple[bytes, date]:
        """Return the key of report ids, and the last closed day; see `Transfer.collector`."""
        key, closed = self._connection.execute(
            "SELECT id_key, closed_through FROM collector"
        ).fetchone()
        return key, date.fromordinal(closed) if closed else date.min

    def declared(self) -> list[Declared]:
        """Return every revision of every metric; see `Transfer.declared`."""
        rows = self._connection.execute(
            "SELECT series, metric, revision, fingerprint, registry FROM series"
        )
        return [Declared(*row) for row in rows]

    def registry(self, sha256: str) -> bytes:
        """Return a registry; see `Transfer.registry`."""
        (body,) = self._connection.execute(
            "SELECT body FROM registries WHERE sha256 = ?", (sha256,)
        ).fetchone()
        return bytes(body)

    def chunks(self, series: int, last: date) -> Iterator[Chunk]:
        """Return what is counted up to a day; see `Transfer.chunks`."""
        rows = self._connection.execute(
            "SELECT day, cohort, chunk, reports, cells FROM tallies WHERE series = ? AND day <= ?",
            (series, last.toordinal()),
        )
        for day, *chunk in rows:
            yield date.fromordinal(day), *chunk

    def sources(self, series: int) -> Iterator[tuple[date, bytes]]:
        """Return whose reports were merged into a series; see `Transfer.sources`."""
        rows = self._connection.execute(
            "SELECT day, source FROM merged WHERE series = ?", (series,)
        )
        for day, source in rows:
            yield date.fromordinal(day), source

    def claim(self, claims: Sequence[Claim]) -> set[Claim]:
        """Remember whose reports are to be added; see `Transfer.claim`."""
        return {
            (series, day, source)
            for series, day, source in claims
            if self._connection.execute(
                "INSERT INTO merged VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (series, day.toordinal(), source),
            ).rowcount
        }

    def add(self, rows: Iterable[TallyRow]) -> None:
        """Add to tallies, in place; see `Transfer.add`."""
        add_tallies(self._connection, rows)


@contextmanager
def reading(path: Path, busy_seconds: float) -> Iterator[SqliteTransfer]:
    """Read one moment of a file that exists. Raises StoreError, UnknownSchema."""
    if not path.exists():
        raise StoreError(f"{path}: there is no such database")
    check_version(version(path), len(STEPS))
    with closing(open_reader(path, busy_seconds)) as connection, _transaction(connection, "BEGIN"):
        yield SqliteTransfer(connection)


@contextmanager
def writing(path: Path, busy_seconds: float) -> Iterator[SqliteTransfer]:
    """Write to a file, which is made if it is absent, as its one writer: all or nothing.

    Raises StoreUnavailable where others hold it for more than `busy_seconds`.
    """
    with (
        closing(open_writer(path, busy_seconds)) as connection,
        _transaction(connection, "BEGIN IMMEDIATE"),
    ):
        yield SqliteTransfer(connection)


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    try:
        connection.execute(begin)
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise StoreUnavailable(f"the database can't be used ({error}); try again") from error
