"""Keyed hashes: what they cover, and that a key is needed."""

import hashlib
import hmac
from datetime import date
from typing import Any

import pytest

from rumor_server.digest import account_hash, id_hash, new_key, report_digest
from rumor_shared.wire import length_prefixed

KEY = bytes(range(32))
REPORT: dict[str, Any] = {
    "report_id": b"i" * 16,
    "metric": "theme",
    "revision": 1,
    "day": date(2026, 11, 30),
    "cohort": 3,
    "payload": b"\x01",
}


def test_digest_is_the_contracts() -> None:
    """HMAC-SHA256 over the length-prefixed fields in the contract's order, cut to 16 bytes."""
    message = length_prefixed(b"i" * 16, "theme", 1, "2026-11-30", 3, b"\x01")
    expected = hmac.digest(KEY, message, hashlib.sha256)[:16]
    assert report_digest(KEY, **REPORT) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"report_id": b"j" * 16},
        {"metric": "themes"},
        {"revision": 2},
        {"day": date(2026, 11, 29)},
        {"cohort": 4},
        {"payload": b"\x00"},
        {"key": bytes(32)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_digest_changes_with_every_field(change: dict[str, Any]) -> None:
    """No field of a report, nor the key, can change without the digest."""
    assert report_digest(**{"key": KEY, **REPORT, **change}) != report_digest(KEY, **REPORT)


def test_accounts_of_a_device_share_nothing() -> None:
    """Two accounts, two devices and two keys have different hashes of 16 bytes."""
    hashes = {
        account_hash(key, pseudonym, name)
        for key in (KEY, bytes(32))
        for pseudonym in (b"a" * 16, b"b" * 16)
        for name in ("total", "family theme")
    }
    assert len(hashes) == 8
    assert {len(one) for one in hashes} == {16}


def test_ids_are_hashed_under_a_key() -> None:
    """The hash of an id needs the database's key, and keys are fresh."""
    assert id_hash(KEY, b"i" * 16) != id_hash(bytes(32), b"i" * 16)
    assert len(id_hash(KEY, b"i" * 16)) == 16
    assert new_key() != new_key()
