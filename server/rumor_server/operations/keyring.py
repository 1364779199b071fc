"""Keys: who may send reports, read estimates, or operate the collector.

A key is `rumor_<scope>_<id>_<secret>`. The secret is 256 random bits, so a plain SHA-256 of it is
kept (a slow hash protects words that people choose, and costs every request); the id finds it. The
key itself is shown once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from rumor_server.errors import KeyProblem
from rumor_server.storage.operator_tables import Control, Statements

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_KEY = re.compile(r"rumor_(ingest|analyst|admin)_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_COLUMNS = (
    "id, name, scope, sha256, created, expires, revoked, last_used, minute_requests, day_reports"
)


class Scope(StrEnum):
    """What a key is good for. An admin may also read; nobody but `ingest` sends reports."""

    INGEST = "ingest"
    """To send and to retract reports."""
    ANALYST = "analyst"
    """To read metrics, estimates and the dashboard."""
    ADMIN = "admin"
    """To read all that an analyst may, and `/metrics`."""

    def allows(self, wanted: Scope) -> bool:
        """Return whether a key of this scope may do what `wanted` names."""
        return self is wanted or (self is Scope.ADMIN and wanted is Scope.ANALYST)


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


def create_key(
    control: Control,
    name: str,
    scope: Scope,
    today: date,
    *,
    expires: date | None = None,
    minute_requests: int = 0,
    day_reports: int = 0,
) -> str:
    """Make a key, and return it: nobody can ask for it again.

    Raises KeyProblem for a name that isn't one or is taken, a day of expiry in the past, and a
    negative limit.
    """
    check_key(
        name, today, expires=expires, minute_requests=minute_requests, day_reports=day_reports
    )
    id_, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    with control.transaction() as statements:
        if statements.rows("SELECT 1 FROM control_keys WHERE name = ?", (name,)):
            raise KeyProblem("name", "is taken, perhaps by a revoked key", "choose another")
        statements.run(
            f"INSERT INTO control_keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, 0, 0, ?, ?)",  # noqa: S608 - our own column names
            (
                id_,
                name,
                scope.value,
                _hash(secret),
                today.toordinal(),
                expires.toordinal() if expires else 0,
                minute_requests,
                day_reports,
            ),
        )
    return f"rumor_{scope.value}_{id_}_{secret}"


def check_key(
    name: str, today: date, *, expires: date | None, minute_requests: int, day_reports: int
) -> None:
    """Raise KeyProblem for what no database is needed to refuse."""
    if not _NAME.fullmatch(name):
        raise KeyProblem("name", "is not 1 to 64 letters, digits, spaces and . _ -", "choose one")
    if expires is not None and expires < today:
        raise KeyProblem("expires", "is in the past", "choose today or later")
    for field, limit in (("minute-requests", minute_requests), ("day-reports", day_reports)):
        if not 0 <= limit < 2**53:
            raise KeyProblem(field, "is negative or too large", "0 is no limit")


def list_keys(control: Control) -> list[Key]:
    """Return every key that was ever made, in the order of their names."""
    with control.transaction(reads_only=True) as statements:
        return _keys(statements)


def revoke_key(control: Control, name_or_id: str, today: date) -> Key:
    """Revoke a key for good, and return it as it is now. Raises KeyProblem for an unknown one."""
    with control.transaction() as statements:
        found = [key for key in _keys(statements) if name_or_id in (key.name, key.id)]
        if not found:
            raise KeyProblem("key", "is not known by this name or id", "see `rumor keys list`")
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


def find_key(keys: Mapping[str, Key], given: str) -> Key | None:
    """Return the key that `given` is, whether or not it is still valid; None if it is none.

    The comparison takes the same time wherever a wrong secret differs, and for an unknown id.
    """
    match = _KEY.fullmatch(given)
    if match is None:
        return None
    scope, id_, secret = match.groups()
    key = keys.get(id_)
    expected = key.sha256 if key is not None else _NOBODY
    same = hmac.compare_digest(_hash(secret), expected)
    return key if key is not None and same and key.scope == scope else None


def _hash(secret: str) -> str:
    return hashlib.sha256(b"rumor/key/1\x00" + secret.encode("ascii")).hexdigest()


# The hash of no secret: 64 hexadecimal digits, as all of them.
_NOBODY = "0" * 64


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
