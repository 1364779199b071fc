"""The statements of one commit on PostgreSQL, each over a whole group of batches.

Nodes that touch the same rows wait for one another and never in a circle: each locks the spend that
exists, then adds ids, then adds spend, all in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Cursor
from psycopg.rows import TupleRow

from rumor_server.errors import StoreError, StoreUnavailable
from rumor_server.ingestion.admission import Addition, Decision
from rumor_server.ingestion.keyed_hashes import new_key
from rumor_server.ingestion.retraction import Known, State, Withdrawal
from rumor_server.storage.committing import Contended, DeclaredSeries, no_collector
from rumor_server.storage.postgres.connection import Connection
from rumor_server.storage.tally_rows import INT64, TallyRow
from rumor_shared.registry import Registry

# A statement that ran, and how many rows it must have written.
Written = tuple[Cursor[TupleRow], int]


class PostgresStatements:
    """The `Statements` of the transaction that `connection` is in."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def remember_registry(self, registry: Registry) -> None:
        """Remember a registry; see `Statements.remember_registry`."""
        self._connection.execute(
            "INSERT INTO registries VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (registry.sha256, registry.body),
        )
        for metric in registry.metrics.values():
            self._connection.execute(
                "INSERT INTO series (metric, revision, fingerprint, registry) "
                "VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (metric.name, metric.revision, metric.fingerprint, registry.sha256),
            )

    def series(self, metric: str, revision: int) -> DeclaredSeries:
        """Return a declared revision of a metric; see `Statements.series`."""
        row = self._connection.execute(
            "SELECT series, fingerprint, body FROM series JOIN registries ON registry = sha256 "
            "WHERE (metric, revision) = (%s, %s)",
            (metric, revision),
        ).fetchone()
        if row is None:
            raise StoreError("a report's metric is not in the database")
        return DeclaredSeries(*row)

    def closed_and_keys(self, days: Mapping[date, bool]) -> tuple[date, dict[date, bytes]]:
        """Return the last closed day, and keys; see `Statements.closed_and_keys`."""
        closed, keys = self._closed_and_keys(days)
        missing = [day for day, needed in sorted(days.items()) if needed and day > closed]
        missing = [day for day in missing if day not in keys]
        if not missing:
            return closed, keys
        self._connection.execute(
            "INSERT INTO day_keys SELECT * FROM unnest(%b::date[], %b::bytea[]) "
            "ON CONFLICT DO NOTHING",
            (missing, [new_key() for _ in missing]),
        )
        # Of two nodes that made one, the first one's is everybody's.
        return self._closed_and_keys(days)

    def _closed_and_keys(self, days: Iterable[date]) -> tuple[date, dict[date, bytes]]:
        rows = self._connection.execute(
            "SELECT closed_through, day, key FROM collector LEFT JOIN day_keys ON day = ANY(%s)",
            (list(days),),
        ).fetchall()
        if not rows:
            raise no_collector()
        return rows[0][0], {day: key for _, day, key in rows if key is not None}

    def known_ids(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the digests of those ids that are remembered."""
        rows = self._connection.execute(
            "SELECT id, digest FROM ids WHERE id = ANY(%b)", (list(ids),), binary=True
        )
        return dict(rows.fetchall())

    def known_states(self, ids: Sequence[bytes]) -> dict[bytes, Known]:
        """Return what is remembered of those ids that are, and keep others from changing it."""
        rows = self._connection.execute(
            "SELECT id, digest, state FROM ids WHERE id = ANY(%b) ORDER BY id FOR UPDATE",
            (list(ids),),
        )
        return {id_: Known(digest, State(state)) for id_, digest, state in rows}

    def spent_so_far(self, accounts: Set[tuple[date, bytes]]) -> dict[tuple[date, bytes], int]:
        """Return what those accounts have spent that exist, and lock them."""
        if not accounts:
            return {}
        days, hashes = zip(*accounts, strict=True)
        rows = self._connection.execute(
            "SELECT day, account, micro FROM spend WHERE (day, account) IN "
            "(SELECT * FROM unnest(%b::date[], %b::bytea[])) ORDER BY day, account FOR UPDATE",
            (list(days), list(hashes)),
            binary=True,
        )
        return {(day, account): micro for day, account, micro in rows}

    def write(self, decision: Decision, rows: Sequence[TallyRow]) -> None:
        """Write ids, spend and deltas; see `Statements.write`."""
        with self._connection.pipeline():
            written = [*self._insert_ids(decision), *self._add_spend(decision.spend)]
            self.add_tallies(rows)
        _check_written(written)

    def _insert_ids(self, decision: Decision) -> list[Written]:
        rows = [(id_, day, digest) for id_, (day, digest) in sorted(decision.ids.items())]
        if not rows:
            return []
        cursor = self._connection.execute(
            "INSERT INTO ids SELECT *, 0 FROM unnest(%b::bytea[], %b::date[], %b::bytea[]) "
            "ON CONFLICT DO NOTHING",
            _columns(rows),
        )
        return [(cursor, len(rows))]

    def set_states(self, withdrawal: Withdrawal, known: Mapping[bytes, Known]) -> None:
        """Remember what became of ids that were retracted. Raises Contended if one just came."""
        rows = sorted(withdrawal.states.items())
        changed = [(id_, int(state)) for id_, (_, _, state) in rows if id_ in known]
        added = [(id_, day, digest, int(s)) for id_, (day, digest, s) in rows if id_ not in known]
        if changed:
            self._connection.execute(
                "UPDATE ids SET state = changed.state FROM unnest(%b::bytea[], %b::int2[]) "
                "AS changed (id, state) WHERE ids.id = changed.id",
                _columns(changed),
            )
        if added:
            cursor = self._connection.execute(
                "INSERT INTO ids SELECT * FROM "
                "unnest(%b::bytea[], %b::date[], %b::bytea[], %b::int2[]) ON CONFLICT DO NOTHING",
                _columns(added),
            )
            _check_written([(cursor, len(added))])
        _check_written(self._add_spend(withdrawal.spend))

    def _add_spend(self, spend: Mapping[tuple[date, bytes], Addition]) -> list[Written]:
        """Charge every account. Raises StoreError, before anything, if one would pass its cap."""
        charged = [row for row in sorted(spend.items(), key=itemgetter(0)) if row[1].micro]
        for added in (one for _, one in charged if one.left < 0):
            raise StoreError(f"an account would pass its cap of {added.cap}")
        fresh = [(*key, added.micro) for key, added in charged if not added.before]
        opened = [(*key, added.micro) for key, added in charged if added.before]
        written = []
        if fresh:
            cursor = self._connection.execute(
                "INSERT INTO spend (day, account, micro) SELECT * FROM "
                "unnest(%b::date[], %b::bytea[], %b::int8[]) ON CONFLICT DO NOTHING",
                _columns(fresh),
            )
            written.append((cursor, len(fresh)))
        if opened:
            cursor = self._connection.execute(
                "UPDATE spend SET micro = spend.micro + added.micro "
                "FROM unnest(%b::date[], %b::bytea[], %b::int8[]) AS added (day, account, micro) "
                "WHERE (spend.day, spend.account) = (added.day, added.account)",
                _columns(opened),
            )
            written.append((cursor, len(opened)))
        return written

    def add_tallies(self, rows: Iterable[TallyRow]) -> None:
        """Append what comes to tallies; see `append_deltas`."""
        append_deltas(self._connection, rows)

    def try_locks(self) -> None:
        """Lock the tables that a commit writes, or fail at once; see `Statements.try_locks`."""
        row = self._connection.execute("SHOW transaction_read_only").fetchone()
        if row != ("off",):
            raise StoreUnavailable("the database is read-only: a standby, or set to be so")
        self._connection.execute(
            "LOCK TABLE ids, spend, deltas, day_keys IN ROW EXCLUSIVE MODE NOWAIT"
        )

    def try_write(self) -> None:
        """Write a row as it is."""
        self._connection.execute("UPDATE collector SET closed_through = closed_through")

    def close_through(self, through: date) -> date:
        """Move the last closed day forward; see `Statements.close_through`."""
        self._connection.execute(
            "UPDATE collector SET closed_through = greatest(closed_through, %s)", (through,)
        )
        closed = closed_through(self._connection)
        self._connection.execute("DELETE FROM day_keys WHERE day <= %s", (closed,))
        return closed

    def forget_ids(self, after: bytes, at_most: int) -> bytes | None:
        """Delete ids of closed days; see `Statements.forget_ids`."""
        row = self._connection.execute(
            "SELECT id FROM ids WHERE id > %s ORDER BY id LIMIT 1 OFFSET %s", (after, at_most - 1)
        ).fetchone()
        last = "AND id <= %s" if row else ""
        self._connection.execute(
            f"DELETE FROM ids WHERE day <= %s AND id > %s {last}".encode(),  # noqa: S608 - our words
            (closed_through(self._connection), after, *(row or ())),
        )
        return None if row is None else bytes(row[0])

    def forget_spend(self, at_most: int) -> int:
        """Delete accounts of closed days; see `Statements.forget_spend`."""
        return self._connection.execute(
            "DELETE FROM spend WHERE (day, account) IN (SELECT day, account FROM spend "
            "WHERE day <= (SELECT closed_through FROM collector) LIMIT %s)",
            (at_most,),
        ).rowcount


def closed_through(connection: Connection) -> date:
    """Return the last closed day, date.min where there is none. Raises StoreError."""
    row = connection.execute("SELECT closed_through FROM collector").fetchone()
    if row is None:
        raise no_collector()
    closed: date = row[0]
    return closed


def _check_written(statements: Iterable[Written]) -> None:
    """Raise Contended if a statement met a row that another node wrote first."""
    if any(cursor.rowcount != rows for cursor, rows in statements):
        raise Contended


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
