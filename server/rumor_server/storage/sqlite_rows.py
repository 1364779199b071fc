"""The statements of one commit, each vectorised over a group of batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from operator import itemgetter

import numpy as np

from rumor_server.errors import StoreError
from rumor_server.ingestion.admission import Addition, Decision, HashedBatch, Spent
from rumor_server.ingestion.digest import new_key
from rumor_server.ingestion.retraction import Known, State, Withdrawal
from rumor_server.storage.tally_rows import INT64, TallyRow

# SQLite takes 32,766 parameters in a statement since 3.32.
_PARAMETERS = 30_000


class Remembered(StoreError):
    """A report of a group was counted before: the ids must be looked up first."""


def day_keys(
    connection: sqlite3.Connection, days: Mapping[date, bool], closed: date
) -> dict[date, bytes]:
    """Return the keys that days have; make one for an open day where `days` says so."""
    keys: dict[date, bytes] = {}
    for day, is_needed in days.items():
        row = connection.execute(
            "SELECT key FROM day_keys WHERE day = ?", (day.toordinal(),)
        ).fetchone()
        if row is not None:
            keys[day] = row[0]
        elif is_needed and day > closed:
            keys[day] = new_key()
            connection.execute("INSERT INTO day_keys VALUES (?, ?)", (day.toordinal(), keys[day]))
    return keys


def known_ids(connection: sqlite3.Connection, ids: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the digests of those ids that are remembered."""
    known: dict[bytes, bytes] = {}
    for part in _parts(ids):
        marks = ",".join("?" * len(part))
        known.update(
            connection.execute(f"SELECT id, digest FROM ids WHERE id IN ({marks})", part)  # noqa: S608 - marks alone
        )
    return known


def known_states(connection: sqlite3.Connection, ids: Iterable[bytes]) -> dict[bytes, Known]:
    """Return what is remembered of those ids that are."""
    known: dict[bytes, Known] = {}
    for part in _parts(list(ids)):
        marks = ",".join("?" * len(part))
        rows = connection.execute(
            f"SELECT id, digest, state FROM ids WHERE id IN ({marks})",  # noqa: S608 - marks alone
            part,
        )
        known.update({id_: Known(digest, State(state)) for id_, digest, state in rows})
    return known


def spent_so_far(
    connection: sqlite3.Connection, batches: Iterable[HashedBatch]
) -> dict[tuple[date, bytes], Spent]:
    """Return what those accounts of the batches that exist have spent."""
    spent: dict[tuple[date, bytes], Spent] = {}
    by_day: dict[date, set[bytes]] = {}
    for batch in batches:
        by_day.setdefault(batch.sent.day, set()).update(batch.accounts.values())
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


def _parts(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(values), _PARAMETERS):
        yield values[start : start + _PARAMETERS]


def insert_ids(connection: sqlite3.Connection, decision: Decision) -> None:
    """Remember the ids that were counted. Raises Remembered if one of them was already."""
    # In the order of the hashes: faster, and the write-ahead file loses the order of arrival.
    ordinals = {day: day.toordinal() for day, _ in decision.ids.values()}
    rows = [(id_, ordinals[day], digest) for id_, (day, digest) in sorted(decision.ids.items())]
    # A number bound from an enumeration would be offered to every adapter first.
    cursor = connection.executemany(
        f"INSERT INTO ids VALUES (?, ?, ?, {State.COUNTED:d}) ON CONFLICT DO NOTHING",  # noqa: S608 - a number
        rows,
    )
    if rows and cursor.rowcount != len(rows):
        raise Remembered("an id that was to be counted is remembered")


def set_states(connection: sqlite3.Connection, withdrawal: Withdrawal) -> None:
    """Remember what became of ids that were retracted."""
    connection.executemany(
        "INSERT INTO ids VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
        [
            (id_, day.toordinal(), digest, state)
            for id_, (day, digest, state) in sorted(withdrawal.states.items())
        ],
    )


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
    if rows and cursor.rowcount != len(rows):
        raise StoreError("an account was charged by someone else within our transaction")


def add_tallies(connection: sqlite3.Connection, rows: Iterable[TallyRow]) -> None:
    """Add to the chunks that reports touch.

    Raises StoreError where a retraction would leave less than nothing.
    """
    for row in rows:
        for chunk, reports, part in row.chunks():
            key = (row.series, row.day.toordinal(), row.cohort, chunk)
            before = connection.execute(
                "SELECT cells FROM tallies "
                "WHERE series = ? AND day = ? AND cohort = ? AND chunk = ?",
                key,
            ).fetchone()
            cells = part if before is None else part + np.frombuffer(before[0], dtype=INT64)
            if cells.min() < 0:
                raise StoreError("a tally has fewer reports than were to be taken back")
            connection.execute(
                "INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET reports = reports + excluded.reports, cells = excluded.cells",
                (*key, reports, cells.astype(INT64, copy=False).tobytes()),
            )
