"""Turn what was sent into what a store knows of it: keyed hashes, by the keys it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from rumor_server.ingestion.admission import HashedBatch
from rumor_server.ingestion.keyed_hashes import DayHash, IdHash
from rumor_server.ingestion.retraction import HashedRetractions, Retractions
from rumor_server.storage.store import ScreenedBatch


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
        accounts: dict[str, bytes] = {}
        for charge in batch.charges:
            for account in charge.accounts:
                if account.name not in accounts:
                    accounts[account.name] = day.account(batch.pseudonym, account.name)
        return HashedBatch(batch, ids, day.digests(batch.reports), accounts)

    def _retractions(self, sent: Retractions) -> HashedRetractions:
        day = self._days.get(sent.day)
        if day is None:
            return HashedRetractions(sent, None)
        hashes = zip(self._ids.of(sent.reports), day.digests(sent.reports), strict=True)
        return HashedRetractions(sent, list(hashes))
