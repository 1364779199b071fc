"""The statements of one commit, each vectorised over a group of batches.

Hashes go to SQLite packed, one after another in one parameter, and a table of numbers says where
each begins: a quarter of the time of rows that are bound one by one. And such a statement is one
step, after which the writer asks for the interpreter once; it would ask for it after every row.

What is inserted is `OR ROLLBACK`, because a failure ends the transaction anyway: SQLite then keeps
no journal of the statement beside the transaction's own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from operator import itemgetter

import numpy as np

from rumor_server.errors import StoreError
from rumor_server.ingestion.admission import Addition, Decision, HashedBatch, Spent
from rumor_server.ingestion.keyed_hashes import HASH_BYTES, new_key
from rumor_server.ingestion.retraction import Known, State, Withdrawal
from rumor_server.storage.tally_rows import INT64, TallyRow

# So many rows are packed into a statement; the numbers are some 40 KB of memory.
_PACKED = 4096
_HASH = f"substr(?1, i * {HASH_BYTES} + 1, {HASH_BYTES})"
_ID = f"substr(?1, i * {2 * HASH_BYTES} + 1, {HASH_BYTES})"
_DIGEST = f"substr(?1, i * {2 * HASH_BYTES} + {HASH_BYTES + 1}, {HASH_BYTES})"
# CROSS JOIN keeps the order: each hash is looked up, and the table is never read through.
_KNOWN = f"FROM temp.packed CROSS JOIN ids ON id = {_HASH} WHERE i < ?2"
_KNOWN_IDS = f"SELECT id, digest {_KNOWN}"
_KNOWN_STATES = f"SELECT id, digest, state {_KNOWN}"
_SPENT = (
    "SELECT account, micro, reports FROM temp.packed CROSS JOIN spend "  # noqa: S608 - a place
    f"ON day = ?3 AND account = {_HASH} WHERE i < ?2"
)
_INSERT_IDS = (
    "INSERT OR ROLLBACK INTO ids "  # noqa: S608 - places and a number
    f"SELECT {_ID}, ?3, {_DIGEST}, {State.COUNTED:d} FROM temp.packed WHERE i < ?2"
)
_INSERT_SPEND = (
    "INSERT OR ROLLBACK INTO spend "  # noqa: S608 - a place
    f"SELECT ?3, {_HASH}, ?4, ?5 FROM temp.packed WHERE i < ?2 AND ?4 <= ?6"
)
_ADD_SPEND = (
    "UPDATE spend SET micro = micro + ?, reports = reports + ? "
    "WHERE day = ? AND account = ? AND micro + ? <= ?"
)


class Remembered(StoreError):
    """A report of a group was counted before: the ids must be looked up first."""


def prepare(connection: sqlite3.Connection) -> None:
    """Make the numbers that packed statements count with, in the connection's own memory."""
    # What SQLite keeps for itself alone never becomes a file.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("CREATE TEMP TABLE packed (i INTEGER PRIMARY KEY)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO packed VALUES (?)", ((i,) for i in range(_PACKED)))
    connection.execute("COMMIT")


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
        known.update(connection.execute(_KNOWN_IDS, (b"".join(part), len(part))))
    return known


def known_states(connection: sqlite3.Connection, ids: Iterable[bytes]) -> dict[bytes, Known]:
    """Return what is remembered of those ids that are."""
    known: dict[bytes, Known] = {}
    for part in _parts(list(ids)):
        rows = connection.execute(_KNOWN_STATES, (b"".join(part), len(part)))
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
            rows = connection.execute(_SPENT, (b"".join(part), len(part), day.toordinal()))
            spent.update({(day, account): Spent(micro, count) for account, micro, count in rows})
    return spent


def _parts(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(values), _PACKED):
        yield values[start : start + _PACKED]


def insert_ids(connection: sqlite3.Connection, decision: Decision) -> None:
    """Remember the ids that were counted. Raises Remembered if one of them was already."""
    # In the order of the hashes: faster, and the write-ahead file loses the order of arrival.
    rows: dict[date, list[bytes]] = {}
    for id_, (day, digest) in sorted(decision.ids.items()):
        rows.setdefault(day, []).append(id_ + digest)
    for day, of_day in rows.items():
        for part in _parts(of_day):
            try:
                connection.execute(_INSERT_IDS, (b"".join(part), len(part), day.toordinal()))
            except sqlite3.IntegrityError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
                    raise
                raise Remembered("an id that was to be counted is remembered") from None


def set_states(connection: sqlite3.Connection, withdrawal: Withdrawal) -> None:
    """Remember what became of ids that were retracted."""
    connection.executemany(
        "INSERT INTO ids VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
        [
            (id_, day.toordinal(), digest, state)
            for id_, (day, digest, state) in sorted(withdrawal.states.items())
        ],
    )


def add_spend(
    connection: sqlite3.Connection,
    spend: Mapping[tuple[date, bytes], Addition],
    spent: Mapping[tuple[date, bytes], Spent],
) -> None:
    """Charge every account, each by a statement that its cap conditions; `spent` are those found.

    Raises StoreError where another than this transaction charged one.
    """
    charged = 0
    # Many devices are charged alike: the same sum for the same number of reports.
    new: dict[tuple[date, int, int, int], list[bytes]] = {}
    old: list[tuple[int, int, int, bytes, int, int]] = []
    for (day, account), added in sorted(spend.items(), key=itemgetter(0)):
        if not added.reports:
            continue
        charged += 1
        micro, reports, cap = added.micro, added.reports, added.cap
        if (day, account) in spent:
            old.append((micro, reports, day.toordinal(), account, micro, cap))
        else:
            new.setdefault((day, micro, reports, cap), []).append(account)
    written = connection.executemany(_ADD_SPEND, old).rowcount if old else 0
    for (day, micro, reports, cap), accounts in new.items():
        for part in _parts(accounts):
            sums = (day.toordinal(), micro, reports, cap)
            cursor = connection.execute(_INSERT_SPEND, (b"".join(part), len(part), *sums))
            written += cursor.rowcount
    if written != charged:
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
