"""Keys: who may send reports, read estimates, or operate the collector.

A key is `rumor_<scope>_<id>_<secret>`. The secret is 256 random bits, so a plain SHA-256 of it is
kept (a slow hash protects words that people choose, and costs every request); the id finds it. The
key itself is shown once.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping
from datetime import date

from rumor_server.access import Scope
from rumor_server.errors import KeyProblem
from rumor_server.storage.keys import Key, add_key, end_key, list_keys, note_use
from rumor_server.storage.operator_tables import Control

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_KEY = re.compile(r"rumor_(ingest|analyst|admin)_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
# However many unknown keys are tried, they are looked for five times a second.
_UNKNOWN_SECONDS = 0.2


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
    key = Key(
        id_,
        name,
        scope,
        _hash(secret),
        created=today,
        expires=expires,
        revoked=None,
        last_used=None,
        minute_requests=minute_requests,
        day_reports=day_reports,
    )
    if not add_key(control, key):
        raise KeyProblem("name", "is taken, perhaps by a revoked key", "choose another")
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


def revoke_key(control: Control, name_or_id: str, today: date) -> Key:
    """Revoke a key for good, and return it as it is now. Raises KeyProblem for an unknown one."""
    key = end_key(control, name_or_id, today)
    if key is None:
        raise KeyProblem("key", "is not known by this name or id", "see `rumor keys list`")
    return key


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


class Keyring:
    """The keys of the database, at most `refresh_seconds` old, and which of them were used."""

    def __init__(self, control: Control, refresh_seconds: float) -> None:
        self._control = control
        self._refresh_seconds = refresh_seconds
        self._keys: Mapping[str, Key] = {}
        self._read_at = float("-inf")
        self._lock = asyncio.Lock()
        self._used: set[str] = set()

    async def find(self, given: str) -> Key | None:
        """Return the key that was given, valid or not. Raises StoreUnavailable.

        One that isn't known may have been made since keys were read, so they are read again.
        """
        await self._read(self._refresh_seconds)
        found = find_key(self._keys, given)
        if found is None:
            await self._read(_UNKNOWN_SECONDS)
            found = find_key(self._keys, given)
        return found

    def used(self, key: Key) -> None:
        """Note that a key let a request in."""
        self._used.add(key.id)

    def write_used(self, today: date) -> None:
        """Keep the day of use of the keys that were used since the last call."""
        used, self._used = self._used, set()
        known = self._keys
        news = {id_ for id_ in used if id_ in known and known[id_].last_used != today}
        if news:
            note_use(self._control, news, today)

    async def _read(self, oldest: float) -> None:
        """Read the keys unless they were read within the last `oldest` seconds."""
        if time.monotonic() - self._read_at <= oldest:
            return
        async with self._lock:
            if time.monotonic() - self._read_at > oldest:
                found = await asyncio.to_thread(list_keys, self._control)
                self._keys = {key.id: key for key in found}
                self._read_at = time.monotonic()


def _hash(secret: str) -> str:
    return hashlib.sha256(b"rumor/key/1\x00" + secret.encode("ascii")).hexdigest()


# The hash of no secret: 64 hexadecimal digits, as all of them.
_NOBODY = "0" * 64
