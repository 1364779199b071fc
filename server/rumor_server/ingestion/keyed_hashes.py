"""Keyed hashes, which the store keeps instead of ids, pseudonyms and payloads.

A plain digest of a one-bit payload is that payload, and a plain hash of a pseudonym can be checked
by whoever guesses it. So each is keyed BLAKE2b, cut to 16 bytes: report ids by a key of the
database (an id is looked up whatever its day), accounts and digests by a key of their day,
destroyed when the day closes.

A keyed state is copied for each report: a sixth of the time of an HMAC-SHA256 from the start.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
from collections.abc import Iterable, Mapping
from datetime import date

from rumor_server.ingestion.admission import HashedBatch, label
from rumor_server.ingestion.batch import Report
from rumor_server.ingestion.retraction import HashedRetractions, Retractions
from rumor_server.ingestion.screening import Charge, ScreenedBatch
from rumor_shared.budget import Account
from rumor_shared.wire import length_prefixed

KEY_BYTES = 32
# 128 bits: as many as the ids and pseudonyms that they stand for.
HASH_BYTES = 16

_COHORT = struct.Struct("<Q").pack


def new_key() -> bytes:
    """Return a fresh key from the operating system's CSPRNG."""
    return secrets.token_bytes(KEY_BYTES)


class IdHash:
    """Hashes of report ids under the key of a database.

    Their order says nothing of the order of arrival, whatever ids a client chooses.
    """

    def __init__(self, key: bytes) -> None:
        self._keyed = _keyed(key, b"rumor/id/1")

    def of(self, reports: Iterable[Report]) -> list[bytes]:
        """Return what stands for the id of each report."""
        copy = self._keyed.copy
        hashes = []
        for report in reports:
            state = copy()
            state.update(report.id)
            hashes.append(state.digest())
        return hashes


class DayHash:
    """Hashes of what is of one day, under its key."""

    def __init__(self, key: bytes, day: date) -> None:
        self._day = day.isoformat()
        self._reports = _keyed(key, b"rumor/report/1")
        self._accounts = _keyed(key, b"rumor/account/1")
        # The state after what all reports of a series share.
        self._series: dict[tuple[str, int], hashlib.blake2b] = {}

    def account(self, pseudonym: bytes, account: Account) -> bytes:
        """Return what stands for one account of a pseudonym; two of its accounts share nothing."""
        state = self._accounts.copy()
        state.update(pseudonym + label(account).encode())
        return state.digest()

    def digests(self, reports: Iterable[Report]) -> list[bytes]:
        """Return the digests by which repeated reports are told from conflicting ones.

        Each is over length-prefixed metric, revision and day, then the id of 16 bytes, the cohort
        as eight, and the payload to the end.
        """
        digests = []
        for report in reports:
            name = (report.metric, report.revision)
            shared = self._series.get(name)
            if shared is None:
                self._series[name] = shared = self._reports.copy()
                shared.update(length_prefixed(*name, self._day))
            state = shared.copy()
            state.update(report.id + _COHORT(report.cohort) + report.payload)
            digests.append(state.digest())
        return digests


def days_of_batches(batches: Iterable[ScreenedBatch]) -> dict[date, bool]:
    """Return the days of batches, and whether any report of them may be counted."""
    days: dict[date, bool] = {}
    for batch in batches:
        if not days.get(batch.day):
            days[batch.day] = bool(batch.charges)
    return days


def days_of_retractions(batches: Iterable[Retractions]) -> dict[date, bool]:
    """Return the days of retractions, and whether tombstones may be set on them."""
    days: dict[date, bool] = {}
    for batch in batches:
        days[batch.day] = days.get(batch.day, False) or batch.unknown is None
    return days


class Hashing:
    """What one transaction hashes with: the database's key, and those of days that have one."""

    def __init__(self, ids: IdHash, keys: Mapping[date, bytes]) -> None:
        self._ids = ids
        self._days = {day: DayHash(key, day) for day, key in keys.items()}

    def batches(self, batches: Iterable[ScreenedBatch]) -> list[HashedBatch]:
        """Return batches as a store knows them."""
        return [self._batch(batch) for batch in batches]

    def retractions(self, batches: Iterable[Retractions]) -> list[HashedRetractions]:
        """Return retractions as a store knows them."""
        return [self._retractions(sent) for sent in batches]

    def _batch(self, batch: ScreenedBatch) -> HashedBatch:
        ids = self._ids.of(batch.reports)
        day = self._days.get(batch.day)
        if day is None:
            return HashedBatch(batch, ids, None, {})
        accounts = _accounts(day, batch.pseudonym, batch.charges)
        return HashedBatch(batch, ids, day.digests(batch.reports), accounts)

    def _retractions(self, sent: Retractions) -> HashedRetractions:
        day = self._days.get(sent.day)
        if day is None:
            return HashedRetractions(sent, None, {})
        hashes = zip(self._ids.of(sent.reports), day.digests(sent.reports), strict=True)
        different = [one for one in dict.fromkeys(sent.charges) if one is not None]
        accounts = _accounts(day, sent.pseudonym, different)
        return HashedRetractions(sent, list(hashes), accounts)


def _accounts(day: DayHash, pseudonym: bytes, charges: Iterable[Charge]) -> dict[Account, bytes]:
    hashes: dict[Account, bytes] = {}
    for charge in charges:
        for account, _ in charge.accounts:
            if account not in hashes:
                hashes[account] = day.account(pseudonym, account)
    return hashes


def _keyed(key: bytes, purpose: bytes) -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=HASH_BYTES, key=key, person=purpose)
