"""The statements of one commit on PostgreSQL, each over a whole group of batches.

Nodes that touch the same rows wait for one another and never in a circle: each locks the spend that
exists, then adds ids, then adds spend, all in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Cursor
from psycopg.rows import TupleRow

from rumor_server.errors import StoreError
from rumor_server.ingestion.admission import Addition, Decision, HashedBatch, Spent
from rumor_server.ingestion.keyed_hashes import new_key
from rumor_server.ingestion.retraction import Known, State, Withdrawal
from rumor_server.storage.postgres.connection import Connection
from rumor_server.storage.tally_rows import INT64, TallyRow


class Contended(Exception):
    """A report was known after all, or another node counted or charged the same: decide again."""


# A statement that ran, and how many rows it must have written.
Written = tuple[Cursor[TupleRow], int]


def check_written(statements: Iterable[Written]) -> None:
    """Raise Contended if a statement met a row that another node wrote first."""
    if any(cursor.rowcount != rows for cursor, rows in statements):
        raise Contended


def closed_through(connection: Connection) -> date:
    """Return the last closed day."""
    closed, _ = _closed_and_keys(connection, [])
    return closed


def closed_and_keys(
    connection: Connection, days: Mapping[date, bool]
) -> tuple[date, dict[date, bytes]]:
    """Return the last closed day, and the keys that days have.

    One is made for an open day where `days` says so.
    """
    closed, keys = _closed_and_keys(connection, days)
    missing = [day for day, needed in sorted(days.items()) if needed and day > closed]
    missing = [day for day in missing if day not in keys]
    if not missing:
        return closed, keys
    connection.execute(
        "INSERT INTO day_keys SELECT * FROM unnest(%b::date[], %b::bytea[]) ON CONFLICT DO NOTHING",
        (missing, [new_key() for _ in missing]),
    )
    # Of two nodes that made one, the first one's is everybody's.
    return _closed_and_keys(connection, days)


def _closed_and_keys(
    connection: Connection, days: Iterable[date]
) -> tuple[date, dict[date, bytes]]:
    rows = connection.execute(
        "SELECT closed_through, day, key FROM collector LEFT JOIN day_keys ON day = ANY(%s)",
        (list(days),),
    ).fetchall()
    if not rows:
        raise StoreError("the database has lost its collector's row; restore a backup")
    return rows[0][0], {day: key for _, day, key in rows if key is not None}


def known_ids(connection: Connection, ids: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the digests of those ids that are remembered."""
    rows = connection.execute(
        "SELECT id, digest FROM ids WHERE id = ANY(%b)", (list(ids),), binary=True
    )
    return dict(rows.fetchall())


def known_states(connection: Connection, ids: Iterable[bytes]) -> dict[bytes, Known]:
    """Return what is remembered of those ids that are, and keep others from changing it."""
    rows = connection.execute(
        "SELECT id, digest, state FROM ids WHERE id = ANY(%b) ORDER BY id FOR UPDATE", (list(ids),)
    )
    return {id_: Known(digest, State(state)) for id_, digest, state in rows}


def spent_so_far(
    connection: Connection, batches: Iterable[HashedBatch]
) -> dict[tuple[date, bytes], Spent]:
    """Return what those accounts of the batches that exist have spent, and lock them."""
    wanted = {(batch.sent.day, account) for batch in batches for account in batch.accounts.values()}
    if not wanted:
        return {}
    days, accounts = zip(*wanted, strict=True)
    rows = connection.execute(
        "SELECT day, account, micro, reports FROM spend WHERE (day, account) IN "
        "(SELECT * FROM unnest(%b::date[], %b::bytea[])) ORDER BY day, account FOR UPDATE",
        (list(days), list(accounts)),
        binary=True,
    )
    return {(day, account): Spent(micro, reports) for day, account, micro, reports in rows}


def insert_ids(connection: Connection, decision: Decision) -> list[Written]:
    """Remember the ids that were counted."""
    rows = [(id_, day, digest) for id_, (day, digest) in sorted(decision.ids.items())]
    if not rows:
        return []
    cursor = connection.execute(
        "INSERT INTO ids SELECT *, 0 FROM unnest(%b::bytea[], %b::date[], %b::bytea[]) "
        "ON CONFLICT DO NOTHING",
        _columns(rows),
    )
    return [(cursor, len(rows))]


def set_states(
    connection: Connection, withdrawal: Withdrawal, known: Mapping[bytes, Known]
) -> None:
    """Remember what became of ids that were retracted. Raises Contended if one just came."""
    rows = sorted(withdrawal.states.items())
    changed = [(id_, int(state)) for id_, (_, _, state) in rows if id_ in known]
    added = [(id_, day, digest, int(s)) for id_, (day, digest, s) in rows if id_ not in known]
    if changed:
        connection.execute(
            "UPDATE ids SET state = changed.state FROM unnest(%b::bytea[], %b::int2[]) "
            "AS changed (id, state) WHERE ids.id = changed.id",
            _columns(changed),
        )
    if added:
        cursor = connection.execute(
            "INSERT INTO ids SELECT * FROM unnest(%b::bytea[], %b::date[], %b::bytea[], %b::int2[])"
            " ON CONFLICT DO NOTHING",
            _columns(added),
        )
        check_written([(cursor, len(added))])


def add_spend(
    connection: Connection, spend: Mapping[tuple[date, bytes], Addition]
) -> list[Written]:
    """Charge every account. Raises StoreError, before anything, where one would pass its cap."""
    charged = [row for row in sorted(spend.items(), key=itemgetter(0)) if row[1].reports]
    for added in (one for _, one in charged if one.before.micro + one.micro > one.cap):
        raise StoreError(f"an account would pass its cap of {added.cap}")
    rows = [(*key, added.micro, added.reports, added.before.reports) for key, added in charged]
    fresh = [row[:4] for row in rows if not row[4]]
    opened = [row[:4] for row in rows if row[4]]
    written = []
    if fresh:
        cursor = connection.execute(
            "INSERT INTO spend SELECT * FROM "
            "unnest(%b::date[], %b::bytea[], %b::int8[], %b::int4[]) ON CONFLICT DO NOTHING",
            _columns(fresh),
        )
        written.append((cursor, len(fresh)))
    if opened:
        cursor = connection.execute(
            "UPDATE spend SET micro = spend.micro + added.micro, "
            "reports = spend.reports + added.reports "
            "FROM unnest(%b::date[], %b::bytea[], %b::int8[], %b::int4[]) "
            "AS added (day, account, micro, reports) "
            "WHERE (spend.day, spend.account) = (added.day, added.account)",
            _columns(opened),
        )
        written.append((cursor, len(opened)))
    return written


def append_deltas(connection: Connection, rows: Iterable[TallyRow]) -> None:
    """Append what comes to tallies: one row a series, day, cohort and chunk."""
    deltas = [
        (row.series, row.day, row.cohort, chunk, reports, part.astype(INT64).tobytes())
        for row in rows
        for chunk, reports, part in row.chunks()
    ]
    if deltas:
        connection.execute(
            "INSERT INTO deltas (series, day, cohort, chunk, reports, cells) SELECT * FROM "
            "unnest(%b::int4[], %b::date[], %b::int4[], %b::int4[], %b::int8[], %b::bytea[])",
            _columns(deltas),
        )


def compact(connection: Connection, at_most: int) -> int:
    """Fold the oldest deltas into tallies within a transaction; return how many."""
    rows = connection.execute(
        "DELETE FROM deltas WHERE delta IN (SELECT delta FROM deltas ORDER BY delta LIMIT %s) "
        "RETURNING series, day, cohort, chunk, reports, cells",
        (at_most,),
        binary=True,
    ).fetchall()
    folded: dict[tuple[int, date, int, int], tuple[int, NDArray[np.int64]]] = {}
    for series, day, cohort, chunk, reports, cells in rows:
        key = (series, day, cohort, chunk)
        added = np.frombuffer(cells, dtype=INT64)
        total, counts = folded.get(key, (0, np.zeros_like(added)))
        folded[key] = (total + reports, counts + added)
    for key, (reports, counts) in sorted(folded.items(), key=itemgetter(0)):
        before = connection.execute(
            "SELECT cells FROM tallies WHERE (series, day, cohort, chunk) = (%s, %s, %s, %s)", key
        ).fetchone()
        held = 0 if before is None else np.frombuffer(before[0], dtype=INT64)
        connection.execute(
            "INSERT INTO tallies VALUES (%s, %s, %s, %s, %s, %b) "
            "ON CONFLICT (series, day, cohort, chunk) DO UPDATE "
            "SET reports = tallies.reports + excluded.reports, cells = excluded.cells",
            (*key, reports, (counts + held).astype(INT64).tobytes()),
        )
    return len(rows)


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
