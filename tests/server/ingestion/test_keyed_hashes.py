"""Keyed hashes: what they cover, and that a key is needed."""

import hashlib
from datetime import date
from typing import Any

import msgspec
import pytest

from rumor_server.ingestion.batch import Report
from rumor_server.ingestion.keyed_hashes import DayHash, IdHash, new_key
from rumor_shared.budget import Account
from rumor_shared.wire import length_prefixed

KEY = bytes(range(32))
DAY = date(2026, 11, 30)
REPORT = Report(b"i" * 16, "theme", 1, 3, b"\x01")


def test_digest_is_keyed_over_every_field() -> None:
    """Keyed BLAKE2b: the series length-prefixed, then id, cohort in eight bytes, and payload."""
    message = length_prefixed("theme", 1, "2026-11-30") + b"i" * 16 + b"\x03" + bytes(7) + b"\x01"
    expected = hashlib.blake2b(message, digest_size=16, key=KEY, person=b"rumor/report/1").digest()
    assert DayHash(KEY, DAY).digests([REPORT, REPORT]) == [expected] * 2


@pytest.mark.parametrize(
    "change",
    [
        {"id": b"j" * 16},
        {"metric": "themes"},
        {"revision": 2},
        {"cohort": 4},
        {"payload": b"\x00"},
        {"payload": b""},
    ],
    ids=repr,
)
def test_digest_changes_with_every_field(change: dict[str, Any]) -> None:
    """No field of a report can change without the digest."""
    changed = msgspec.structs.replace(REPORT, **change)
    one, other = DayHash(KEY, DAY).digests([REPORT, changed])
    assert one != other


def test_digest_needs_the_key_of_its_day() -> None:
    """Another key and another day give another digest."""
    digests = {
        DayHash(key, day).digests([REPORT])[0]
        for key in (KEY, bytes(32))
        for day in (DAY, date(2026, 11, 29))
    }
    assert len(digests) == 4


def test_accounts_of_a_device_share_nothing() -> None:
    """Two accounts, two devices and two keys have different hashes of 16 bytes."""
    hashes = {
        DayHash(key, DAY).account(pseudonym, Account("metric", name, ""))
        for key in (KEY, bytes(32))
        for pseudonym in (b"a" * 16, b"b" * 16)
        for name in ("total", "family theme")
    }
    assert len(hashes) == 8
    assert {len(one) for one in hashes} == {16}


def test_ids_are_hashed_under_a_key() -> None:
    """The hash of an id needs the database's key, is of nothing but the id, and keys are fresh."""
    other = Report(b"i" * 16, "page", 3, 0, b"")
    (first, second), (third,) = IdHash(KEY).of([REPORT, other]), IdHash(bytes(32)).of([REPORT])
    assert first == second != third
    assert len(first) == 16
    assert new_key() != new_key()
