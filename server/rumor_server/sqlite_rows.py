"""The statements of one commit, each vectorised over a group of batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from rumor_server.admission import Addition, Decision, HashedBatch, Spent
from rumor_server.digest import new_key
from rumor_server.errors import StoreError
from rumor_server.store import Charge, ScreenedBatch

# Half a page of SQLite's: a report touches one or two pages of a tally, whatever the domain.
CHUNK_CELLS = 256
# SQLite takes 32,766 parameters in a statement since 3.32.
_PARAMETERS = 30_000
_COUNTED = 0
INT64 = np.dtype("<i8")


def day_keys(
    connection: sqlite3.Connection, batches: Sequence[ScreenedBatch], closed: int
) -> dict[date, bytes]:
    """Return the keys of the batches' days; make one for an open day that may be counted."""
    keys: dict[date, bytes] = {}
    for day in {batch.day for batch in batches}:
        row = connection.execute(
            "SELECT key FROM day_keys WHERE day = ?", (day.toordinal(),)
        ).fetchone()
        if row is not None:
            keys[day] = row[0]
        elif day.toordinal() > closed and any(
            isinstance(report.outcome, Charge)
            for batch in batches
            if batch.day == day
            for report in batch.reports
        ):
            keys[day] = new_key()
            connection.execute("INSERT INTO day_keys VALUES (?, ?)", (day.toordinal(), keys[day]))
    return keys


def known_ids(connection: sqlite3.Connection, batches: Iterable[HashedBatch]) -> dict[bytes, bytes]:
    """Return the digests of those ids in the batches that are remembered."""
    wanted = [hashed.id_hash for batch in batches for hashed in batch.reports]
    known: dict[bytes, bytes] = {}
    for part in _parts(wanted):
        marks = ",".join("?" * len(part))
        known.update(
            connection.execute(f"SELECT id, digest FROM ids WHERE id IN ({marks})", part)  # noqa: S608 - marks alone
        )
    return known


def spent_so_far(
    connection: sqlite3.Connection, batches: Iterable[HashedBatch]
) -> dict[tuple[date, bytes], Spent]:
    """Return what those accounts of the batches that exist have spent."""
    spent: dict[tuple[date, bytes], Spent] = {}
    by_day: dict[date, set[bytes]] = {}
    for batch in batches:
        by_day.setdefault(batch.day, set()).update(batch.accounts.values())
    for day, accounts in by_day.items():
        for part in _parts(list(accounts)):
            marks = ",".join("?" * len(part))
            rows = connection.execute(
                "SELECT account, micro, reports FROM spend "  # noqa: S608 - marks alone
                f"WHERE day = ? AND account IN ({marks})",
                (day.toordinal(), *part),
            )
            spent.update({(day, account): Spent(micro, count) for account, micro, count in rows})
    return spent


def _parts(values: list[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(values), _PARAMETERS):
        yield values[start : start + _PARAMETERS]


def insert_ids(connection: sqlite3.Connection, decision: Decision) -> None:
    """Remember the ids that were counted."""
    # In the order of the hashes: faster, and the write-ahead file loses the order of arrival.
    rows = [
        (id_, day.toordinal(), digest, _COUNTED)
        for id_, (day, digest) in sorted(decision.ids.items())
    ]
    cursor = connection.executemany(
        "INSERT INTO ids VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows
    )
    _check_written(cursor, len(rows))


def add_spend(connection: sqlite3.Connection, spend: dict[tuple[date, bytes], Addition]) -> None:
    """Charge every account, each by an update that its cap conditions."""
    rows = [
        (day.toordinal(), account, added.micro, added.reports, added.micro, added.cap, added.cap)
        for (day, account), added in sorted(spend.items(), key=itemgetter(0))
        if added.reports
    ]
    cursor = connection.executemany(
        "INSERT INTO spend SELECT ?, ?, ?, ? WHERE ? <= ? "
        "ON CONFLICT (day, account) DO UPDATE "
        "SET micro = micro + excluded.micro, reports = reports + excluded.reports "
        "WHERE micro + excluded.micro <= ?",
        rows,
    )
    _check_written(cursor, len(rows))


def _check_written(cursor: sqlite3.Cursor, expected: int) -> None:
    """Refuse to commit if a condition in the SQL held back a row that was decided."""
    if expected and cursor.rowcount != expected:
        raise StoreError("a report was counted or charged by someone else within our transaction")


def add_tally(
    connection: sqlite3.Connection,
    row: tuple[int, int, int],
    reports: int,
    counts: NDArray[np.int64],
) -> None:
    """Add to the chunks that a group of reports touches; chunk 0 also counts the reports."""
    touched = {0, *(np.flatnonzero(counts) // CHUNK_CELLS).tolist()}
    for chunk in sorted(touched):
        part = counts[chunk * CHUNK_CELLS : (chunk + 1) * CHUNK_CELLS]
        before = connection.execute(
            "SELECT cells FROM tallies WHERE series = ? AND day = ? AND cohort = ? AND chunk = ?",
            (*row, chunk),
        ).fetchone()
        if before is not None:
            part = part + np.frombuffer(before[0], dtype=INT64)
        connection.execute(
            "INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET reports = reports + excluded.reports, cells = excluded.cells",
            (*row, chunk, 0 if chunk else reports, part.astype(INT64).tobytes()),
        )
