"""Keys and what was taken of their limits, in the operator's tables: all SQL about them.

What a key is, and how one is made and found, is `operations.keyring`; how its limits are spent is
`http.quota`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from rumor_server.access import Scope
from rumor_server.storage.operator_tables import Control, Statements

_COLUMNS = (
    "id, name, scope, sha256, created, expires, revoked, last_used, minute_requests, day_reports"
)
# What was taken of a limit is remembered for so many of its latest minutes or days: a clock that
# steps forth and back finds again what was taken before.
KEPT_WINDOWS = 64


@dataclass(frozen=True)
class Key:
    """What is kept of a key. A limit of 0 is none; `expires` is the last valid UTC day."""

    id: str
    name: str
    scope: Scope
    sha256: str
    created: date
    expires: date | None
    revoked: date | None
    last_used: date | None
    minute_requests: int
    day_reports: int

    def valid(self, day: date) -> bool:
        """Return whether the key is neither revoked nor past its last day."""
        return self.revoked is None and (self.expires is None or day <= self.expires)


def add_key(control: Control, key: Key) -> bool:
    """Keep a key; return False, and keep nothing, where its name is taken."""
    with control.transaction() as statements:
        if statements.rows("SELECT 1 FROM control_keys WHERE name = ?", (key.name,)):
            return False
        statements.run(
            f"INSERT INTO control_keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own column names
            (
                key.id,
                key.name,
                key.scope.value,
                key.sha256,
                key.created.toordinal(),
                *(day.toordinal() if day else 0 for day in (key.expires, key.revoked)),
                key.last_used.toordinal() if key.last_used else 0,
                key.minute_requests,
                key.day_reports,
            ),
        )
    return True


def list_keys(control: Control) -> list[Key]:
    """Return every key that was ever made, in the order of their names."""
    with control.transaction(reads_only=True) as statements:
        return _keys(statements)


def end_key(control: Control, name_or_id: str, today: date) -> Key | None:
    """Mark a key as revoked from `today` on, unless it was before; return it, or None."""
    with control.transaction() as statements:
        found = [key for key in _keys(statements) if name_or_id in (key.name, key.id)]
        if not found:
            return None
        statements.run(
            "UPDATE control_keys SET revoked = ? WHERE id = ? AND revoked = 0",
            (today.toordinal(), found[0].id),
        )
        return next(key for key in _keys(statements) if key.id == found[0].id)


def note_use(control: Control, ids: set[str], today: date) -> None:
    """Keep the day on which keys were last used: a day, since more would be a log of calls."""
    with control.transaction() as statements:
        for id_ in sorted(ids):
            statements.run(
                "UPDATE control_keys SET last_used = ? WHERE id = ? AND last_used < ?",
                (today.toordinal(), id_, today.toordinal()),
            )


def lease(control: Control, id_: str, kind: str, window: int, limit: int, wanted: int) -> int:
    """Take at most `wanted` of what is left of a key's limit in a minute or day; return how many.

    Exact whatever other processes take at the same time.
    """
    place = (id_, kind, window)
    with control.transaction() as statements:
        statements.run(
            "INSERT INTO control_leases VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING", place
        )
        # Changes nothing, and holds the row until the commit, on PostgreSQL too.
        ((taken,),) = statements.rows(
            "UPDATE control_leases SET taken = taken "
            "WHERE id = ? AND kind = ? AND minute_or_day = ? RETURNING taken",
            place,
        )
        granted: int = max(0, min(wanted, limit - taken))
        statements.run(
            "UPDATE control_leases SET taken = taken + ? "
            "WHERE id = ? AND kind = ? AND minute_or_day = ?",
            (granted, *place),
        )
    return granted


def give_back(control: Control, unspent: Iterable[tuple[str, str, int, int]]) -> None:
    """Return what was leased and not spent: key, kind, minute or day, and how many."""
    with control.transaction() as statements:
        for id_, kind, window, left in sorted(unspent):
            statements.run(
                "UPDATE control_leases SET taken = taken - ? "
                "WHERE id = ? AND kind = ? AND minute_or_day = ?",
                (left, id_, kind, window),
            )


def forget_old_leases(control: Control) -> None:
    """Delete what was taken in minutes and days before the latest `KEPT_WINDOWS` of a key."""
    with control.transaction() as statements:
        statements.run(
            "DELETE FROM control_leases AS old WHERE (SELECT count(*) FROM control_leases AS later "
            "WHERE later.id = old.id AND later.kind = old.kind "
            "AND later.minute_or_day > old.minute_or_day) >= ?",
            (KEPT_WINDOWS,),
        )


def _keys(statements: Statements) -> list[Key]:
    rows = statements.rows(f"SELECT {_COLUMNS} FROM control_keys ORDER BY name")  # noqa: S608 - our own column names
    return [
        Key(
            id_,
            name,
            Scope(scope),
            sha256,
            date.fromordinal(created),
            _day(expires),
            _day(revoked),
            _day(used),
            minute,
            day,
        )
        for id_, name, scope, sha256, created, expires, revoked, used, minute, day in rows
    ]


def _day(ordinal: int) -> date | None:
    return date.fromordinal(ordinal) if ordinal else None
