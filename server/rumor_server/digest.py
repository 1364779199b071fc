"""What the store keeps instead of an id, a pseudonym or a payload: keyed hashes.

A plain digest of a one-bit payload is that payload, and a plain hash of a pseudonym can be checked
by whoever guesses it. So each is keyed: report ids by a key of the database (an id is looked up
whatever its day), accounts and digests by a key of their day, destroyed when the day closes.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from datetime import date
from functools import lru_cache

from rumor_shared.wire import ID_BYTES, length_prefixed

KEY_BYTES = 32
# 128 bits: as many as the ids and pseudonyms that they stand for.
HASH_BYTES = 16

_ID_LENGTH = ID_BYTES.to_bytes(4, "little")
_COHORT_AND_LENGTH = struct.Struct("<IQI").pack


def new_key() -> bytes:
    """Return a fresh key from the operating system's CSPRNG."""
    return secrets.token_bytes(KEY_BYTES)


def id_hash(key: bytes, report_id: bytes) -> bytes:
    """Return what stands for a report id: 16 bytes of keyed BLAKE2b.

    Its order says nothing of the order of arrival, whatever ids a client chooses.
    """
    return hashlib.blake2b(
        report_id, digest_size=HASH_BYTES, key=key, person=b"rumor/id/1"
    ).digest()


def account_hash(key: bytes, pseudonym: bytes, account: str) -> bytes:
    """Return what stands for one account of a pseudonym; two of its accounts share nothing."""
    message = length_prefixed(pseudonym, account)
    return hashlib.blake2b(
        message, digest_size=HASH_BYTES, key=key, person=b"rumor/account/1"
    ).digest()


@lru_cache(maxsize=1024)
def _series(metric: str, revision: int, day: date) -> bytes:
    return length_prefixed(metric, revision, day.isoformat())


def report_digest(
    key: bytes,
    report_id: bytes,
    metric: str,
    revision: int,
    day: date,
    cohort: int,
    payload: bytes,
) -> bytes:
    """Return the digest by which a repeated report is told from a conflicting one.

    HMAC-SHA256 over length-prefixed id, metric, revision, day, cohort and payload under the
    server's key of that day, cut to 16 bytes.
    """
    # As `length_prefixed` of all six would write it, at an eighth of its time for each report.
    end = _COHORT_AND_LENGTH(8, cohort, len(payload))
    message = b"".join((_ID_LENGTH, report_id, _series(metric, revision, day), end, payload))
    return hmac.digest(key, message, "sha256")[:HASH_BYTES]
