"""The statements of one commit, each vectorised over a group of batches.

Hashes go to SQLite packed, one after another in one parameter, and a table of numbers says where
each begins: a quarter of the time of rows that are bound one by one. And such a statement is one
step, after which the writer asks for the interpreter once; it would ask for it after every row.

What is inserted is `OR ROLLBACK`, because a failure ends the transaction anyway: SQLite then keeps
no journal of the statement beside the transaction's own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import date
from operator import itemgetter

import numpy as np

from rumor_server.errors import StoreError
from rumor_server.ingestion.admission import Addition, Decision
from rumor_server.ingestion.keyed_hashes import HASH_BYTES, new_key
from rumor_server.ingestion.retraction import Known, State, Withdrawal
from rumor_server.storage.committing import Contended, DeclaredSeries, no_collector
from rumor_server.storage.tally_rows import INT64, TallyRow
from rumor_shared.registry import Registry

# So many rows are packed into a statement; the numbers are some 40 KB of memory.
_PACKED = 4096
# By name: numbered places are taken for names by Python 3.12.1, which warns of them.
_HASH = f"substr(:packed, i * {HASH_BYTES} + 1, {HASH_BYTES})"
_ID = f"substr(:packed, i * {2 * HASH_BYTES} + 1, {HASH_BYTES})"
_DIGEST = f"substr(:packed, i * {2 * HASH_BYTES} + {HASH_BYTES + 1}, {HASH_BYTES})"
# CROSS JOIN keeps the order: each hash is looked up, and the table is never read through.
_KNOWN = f"FROM temp.packed CROSS JOIN ids ON id = {_HASH} WHERE i < :count"
_KNOWN_IDS = f"SELECT id, digest {_KNOWN}"
_KNOWN_STATES = f"SELECT id, digest, state {_KNOWN}"
_SPENT = (
    "SELECT account, micro FROM temp.packed CROSS JOIN spend "  # noqa: S608 - a place
    f"ON day = :day AND account = {_HASH} WHERE i < :count"
)
_INSERT_IDS = (
    "INSERT OR ROLLBACK INTO ids "  # noqa: S608 - places and a number
    f"SELECT {_ID}, :day, {_DIGEST}, {State.COUNTED:d} FROM temp.packed WHERE i < :count"
)
_INSERT_SPEND = (
    "INSERT OR ROLLBACK INTO spend "  # noqa: S608 - a place
    f"SELECT :day, {_HASH}, :micro FROM temp.packed WHERE i < :count AND :micro <= :cap"
)
_ADD_SPEND = "UPDATE spend SET micro = micro + ? WHERE day = ? AND account = ? AND micro + ? <= ?"


def prepare(connection: sqlite3.Connection) -> None:
    """Make the numbers that packed statements count with, in the connection's own memory."""
    # What SQLite keeps for itself alone never becomes a file.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("CREATE TEMP TABLE packed (i INTEGER PRIMARY KEY)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO packed VALUES (?)", ((i,) for i in range(_PACKED)))
    connection.execute("COMMIT")


class SqliteStatements:
    """The `Statements` of the transaction that `connection` is in."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def remember_registry(self, registry: Registry) -> None:
        """Remember a registry; see `Statements.remember_registry`."""
        self._connection.execute(
            "INSERT INTO registries VALUES (?, ?) ON CONFLICT DO NOTHING",
            (registry.sha256, registry.body),
        )
        self._connection.executemany(
            "INSERT INTO series (metric, revision, fingerprint, registry) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            [
                (metric.name, metric.revision, metric.fingerprint, registry.sha256)
                for metric in registry.metrics.values()
            ],
        )

    def series(self, metric: str, revision: int) -> DeclaredSeries:
        """Return a declared revision of a metric; see `Statements.series`."""
        row = self._connection.execute(
            "SELECT series, fingerprint, body FROM series JOIN registries ON registry = sha256 "
            "WHERE metric = ? AND revision = ?",
            (metric, revision),
        ).fetchone()
        if row is None:
            raise StoreError("a report's metric is not in the database")
        return DeclaredSeries(*row)

    def closed_and_keys(self, days: Mapping[date, bool]) -> tuple[date, dict[date, bytes]]:
        """Return the last closed day, and keys; see `Statements.closed_and_keys`."""
        closed = closed_through(self._connection)
        keys: dict[date, bytes] = {}
        for day, is_needed in days.items():
            row = self._connection.execute(
                "SELECT key FROM day_keys WHERE day = ?", (day.toordinal(),)
            ).fetchone()
            if row is not None:
                keys[day] = row[0]
            elif is_needed and day > closed:
                keys[day] = new_key()
                self._connection.execute(
                    "INSERT INTO day_keys VALUES (?, ?)", (day.toordinal(), keys[day])
                )
        return closed, keys

    def known_ids(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the digests of those ids that are remembered."""
        known: dict[bytes, bytes] = {}
        for part in _parts(ids):
            known.update(self._connection.execute(_KNOWN_IDS, _packed(part)))
        return known

    def known_states(self, ids: Sequence[bytes]) -> dict[bytes, Known]:
        """Return what is remembered of those ids that are."""
        known: dict[bytes, Known] = {}
        for part in _parts(ids):
            rows = self._connection.execute(_KNOWN_STATES, _packed(part))
            known.update({id_: Known(digest, State(state)) for id_, digest, state in rows})
        return known

    def spent_so_far(self, accounts: Set[tuple[date, bytes]]) -> dict[tuple[date, bytes], int]:
        """Return what those accounts have spent that exist."""
        spent: dict[tuple[date, bytes], int] = {}
        by_day: dict[date, set[bytes]] = {}
        for day, account in accounts:
            by_day.setdefault(day, set()).add(account)
        for day, of_day in by_day.items():
            for part in _parts(list(of_day)):
                packed = _packed(part, day=day.toordinal())
                rows = self._connection.execute(_SPENT, packed)
                spent.update({(day, account): micro for account, micro in rows})
        return spent

    def write(self, decision: Decision, rows: Sequence[TallyRow]) -> None:
        """Write ids, spend and tallies; see `Statements.write`."""
        self._insert_ids(decision)
        self.add_spend(decision.spend)
        self.add_tallies(rows)

    def _insert_ids(self, decision: Decision) -> None:
        # In the order of the hashes: faster, and the write-ahead file loses the order of arrival.
        rows: dict[date, list[bytes]] = {}
        for id_, (day, digest) in sorted(decision.ids.items()):
            rows.setdefault(day, []).append(id_ + digest)
        for day, of_day in rows.items():
            for part in _parts(of_day):
                try:
                    packed = _packed(part, day=day.toordinal())
                    self._connection.execute(_INSERT_IDS, packed)
                except sqlite3.IntegrityError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
                        raise
                    raise Contended from None

    def set_states(self, withdrawal: Withdrawal, known: Mapping[bytes, Known]) -> None:
        """Remember what became of ids that were retracted."""
        del known  # no other writer comes between
        self.add_spend(withdrawal.spend)
        self._connection.executemany(
            "INSERT INTO ids VALUES (?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET state = excluded.state",
            [
                (id_, day.toordinal(), digest, state)
                for id_, (day, digest, state) in sorted(withdrawal.states.items())
            ],
        )

    def add_spend(self, spend: Mapping[tuple[date, bytes], Addition]) -> None:
        """Charge every account, each by a statement that its cap conditions.

        Raises StoreError where that leaves one uncharged.
        """
        charged = 0
        # Many devices are charged alike: the same sum under the same cap.
        new: dict[tuple[date, int, int], list[bytes]] = {}
        old: list[tuple[int, int, bytes, int, int]] = []
        for (day, account), added in sorted(spend.items(), key=itemgetter(0)):
            if not added.micro:
                continue
            charged += 1
            if added.before:
                old.append((added.micro, day.toordinal(), account, added.micro, added.cap))
            else:
                new.setdefault((day, added.micro, added.cap), []).append(account)
        written = self._connection.executemany(_ADD_SPEND, old).rowcount if old else 0
        for (day, micro, cap), accounts in new.items():
            for part in _parts(accounts):
                packed = _packed(part, day=day.toordinal(), micro=micro, cap=cap)
                written += self._connection.execute(_INSERT_SPEND, packed).rowcount
        if written != charged:
            raise StoreError("an account was charged by someone else within our transaction")

    def add_tallies(self, rows: Iterable[TallyRow]) -> None:
        """Add to the chunks that reports touch; see `add_tallies`."""
        add_tallies(self._connection, rows)

    def try_locks(self) -> None:
        """Return: to begin took the one lock there is."""

    def try_write(self) -> None:
        """Write the first page as it is: a row that stays the same would write none."""
        ((version,),) = self._connection.execute("PRAGMA user_version").fetchall()
        self._connection.execute(f"PRAGMA user_version = {version:d}")

    def close_through(self, through: date) -> date:
        """Move the last closed day forward; see `Statements.close_through`."""
        (closed,) = self._connection.execute(
            "UPDATE collector SET closed_through = max(closed_through, ?) RETURNING closed_through",
            (through.toordinal(),),
        ).fetchone()
        self._connection.execute("DELETE FROM day_keys WHERE day <= ?", (closed,))
        return _day(closed)

    def forget_ids(self, after: bytes, at_most: int) -> bytes | None:
        """Delete ids of closed days; see `Statements.forget_ids`."""
        row = self._connection.execute(
            "SELECT id FROM ids WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?", (after, at_most - 1)
        ).fetchone()
        last = "" if row is None else "AND id <= ?"
        self._connection.execute(
            f"DELETE FROM ids WHERE day <= ? AND id > ? {last}",  # noqa: S608 - our own words
            (
                closed_through(self._connection).toordinal(),
                after,
                *(row or ()),
            ),
        )
        return None if row is None else bytes(row[0])

    def forget_spend(self, at_most: int) -> int:
        """Delete accounts of closed days; see `Statements.forget_spend`."""
        return self._connection.execute(
            "DELETE FROM spend WHERE (day, account) IN (SELECT day, account FROM spend "
            "WHERE day <= (SELECT closed_through FROM collector) LIMIT ?)",
            (at_most,),
        ).rowcount


def closed_through(connection: sqlite3.Connection) -> date:
    """Return the last closed day, date.min where there is none. Raises StoreError."""
    row = connection.execute("SELECT closed_through FROM collector").fetchone()
    if row is None:
        raise no_collector()
    return _day(row[0])


def _day(ordinal: int) -> date:
    return date.fromordinal(ordinal) if ordinal else date.min


def _packed(part: Sequence[bytes], **numbers: int) -> dict[str, bytes | int]:
    """Return what a packed statement is given: values as one, how many, and further numbers."""
    return {"packed": b"".join(part), "count": len(part), **numbers}


def _parts(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(values), _PACKED):
        yield values[start : start + _PACKED]


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
