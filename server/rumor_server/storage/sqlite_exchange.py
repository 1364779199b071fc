"""Tallies out of one SQLite store and into another: once, whatever is repeated.

Only days that are closed go out, so that what went out never changes. Each tally names the
collectors whose reports it counts, and a store remembers whom it has counted on which day: the same
reports can't be added twice, neither by the same file again, nor by another export, nor on a detour
by a third collector.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

import numpy as np

from rumor_server.errors import StoreError, StoreUnavailable
from rumor_server.storage.sqlite_file import open_reader, open_writer
from rumor_server.storage.sqlite_rows import add_tallies
from rumor_server.storage.sqlite_store import SqliteStore
from rumor_server.storage.tally_file import DayTally
from rumor_server.storage.tally_rows import TallyRow

_SOURCE_LABEL = b"rumor/collector/1"
_SOURCE_BYTES = 16


class MergeRefused(StoreError):
    """A tally can't be added; nothing of its file was. `title` names the tally."""

    def __init__(self, title: str, what: str) -> None:
        self.title = title
        super().__init__(f"{title}: {what}")


def export_tallies(
    path: Path, busy_seconds: float, metrics: Collection[str] = ()
) -> tuple[list[DayTally], date | None]:
    """Return the tallies of all closed days, by metric, revision and day, and the last such day.

    `metrics` are the names wanted, all if none is given. Raises StoreError for one that the store
    has never seen, and where the file can't be read.
    """
    if not path.exists():
        raise StoreError(f"{path}: there is no such database")
    with closing(open_reader(path, busy_seconds)) as connection, _faults():
        source = _source(connection)
        (closed,) = connection.execute("SELECT closed_through FROM collector").fetchone()
        if not closed:
            return [], None
        last = date.fromordinal(closed)
        names = {name for (name,) in connection.execute("SELECT DISTINCT metric FROM series")}
        for name in metrics:
            if name not in names:
                raise StoreError(f"{name}: the database has no metric of this name")
        wanted = [
            (*row, _others(connection, row[3], row[2]))
            for row in connection.execute(
                "SELECT DISTINCT metric, revision, day, series FROM tallies JOIN series "
                "USING (series) WHERE day <= ? ORDER BY metric, revision, day",
                (closed,),
            ).fetchall()
            if not metrics or row[0] in metrics
        ]
    with closing(SqliteStore(path, busy_seconds=busy_seconds)) as store:
        declared = {
            (metric.name, metric.revision): metric
            for name in {name for name, *_ in wanted}
            for metric in store.revisions(name)
        }
        exported = []
        for name, revision, ordinal, _, others in wanted:
            metric, day = declared[name, revision], date.fromordinal(ordinal)
            tally = store.tally(metric, day, day)
            if tally.n:
                sources = frozenset({source, *others})
                exported.append(DayTally(name, revision, metric.fingerprint, day, sources, tally))
    return exported, last


def merge_tallies(path: Path, busy_seconds: float, tallies: Sequence[DayTally]) -> None:
    """Add tallies to a store, all of them in one transaction or none.

    Raises MergeRefused for a metric whose cells mean something else here, or that was never
    declared here; and for reports that this store has counted already.
    """
    with closing(open_writer(path, busy_seconds)) as connection, _faults():
        connection.execute("BEGIN IMMEDIATE")
        try:
            own = _source(connection)
            for entry in tallies:
                _merge(connection, entry, own)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _merge(connection: sqlite3.Connection, entry: DayTally, own: str) -> None:
    found = connection.execute(
        "SELECT series, fingerprint FROM series WHERE metric = ? AND revision = ?",
        (entry.metric, entry.revision),
    ).fetchone()
    if found is None:
        raise MergeRefused(entry.title, "is not declared here; give the registry that declares it")
    series, fingerprint = found
    if fingerprint != entry.fingerprint:
        raise MergeRefused(
            entry.title, "means something else here: another mechanism or other parameters"
        )
    day = entry.day.toordinal()
    if entry.sources & {own, *_others(connection, series, day)}:
        raise MergeRefused(entry.title, "has reports that are counted here already")
    connection.executemany(
        "INSERT INTO merged VALUES (?, ?, ?)",
        [(series, day, bytes.fromhex(source)) for source in sorted(entry.sources)],
    )
    for cohort in np.flatnonzero(entry.tally.reports).tolist():
        reports, counts = int(entry.tally.reports[cohort]), entry.tally.counts[cohort]
        add_tallies(connection, [TallyRow(series, entry.day, cohort, reports, counts)])


def _source(connection: sqlite3.Connection) -> str:
    """Return the collector's public name, which its secret key of ids can't be learned from."""
    (key,) = connection.execute("SELECT id_key FROM collector").fetchone()
    return hashlib.sha256(_SOURCE_LABEL + key).digest()[:_SOURCE_BYTES].hex()


def _others(connection: sqlite3.Connection, series: int, day: int) -> set[str]:
    """Return the collectors whose reports of a day were merged into a series."""
    rows = connection.execute(
        "SELECT source FROM merged WHERE series = ? AND day = ?", (series, day)
    )
    return {source.hex() for (source,) in rows}


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailable(f"the database can't be used ({error}); try again") from error
