"""The words that travel between device and server, and the limits both sides keep (design, section
7).
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum

REPORTS_PATH = "/v1/reports"
RETRACTIONS_PATH = "/v1/retractions"
REGISTRY_PATH = "/v1/registry"

JSON = "application/json"
MSGPACK = "application/vnd.msgpack"
PROBLEM = "application/problem+json"

MAX_BATCH_REPORTS = 500
MAX_BATCH_BYTES = 1 << 20

ID_BYTES = 16
PSEUDONYM_BYTES = 16
SECRET_BYTES = 32


class Verdict(StrEnum):
    """What the server says of one report."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"
    RETRY = "retry"


class Reason(StrEnum):
    """Why a report was not accepted: a closed list."""

    UNKNOWN_METRIC = "unknown_metric"
    REVISION_MISMATCH = "revision_mismatch"
    METRIC_EXPIRED = "metric_expired"
    MALFORMED_PAYLOAD = "malformed_payload"
    TOO_EARLY = "too_early"
    TOO_LATE = "too_late"
    BUDGET_EXCEEDED = "budget_exceeded"
    CONFLICTING_DUPLICATE = "conflicting_duplicate"


class Retraction(StrEnum):
    """What the server says of one retraction."""

    RETRACTED = "retracted"
    ALREADY = "already"
    NOT_COUNTED_YET = "not_counted_yet"
    MISMATCH = "mismatch"
    TOO_LATE = "too_late"


def length_prefixed(*parts: bytes | str | int) -> bytes:
    """Join parts so that no two lists of parts give the same bytes.

    Each part is preceded by its length as four bytes, little-endian; text is UTF-8, an integer is
    eight bytes, little-endian.
    """
    joined = b""
    for part in parts:
        if isinstance(part, str):
            raw = part.encode("utf-8", "strict")
        elif isinstance(part, int):
            raw = part.to_bytes(8, "little")
        else:
            raw = part
        joined += len(raw).to_bytes(4, "little") + raw
    return joined


def pseudonym(secret: bytes, day: date) -> bytes:
    """Return what stands for a device on one UTC day: HMAC-SHA256 of the day, 16 bytes."""
    import hashlib  # with hmac, a tenth of what making a client loads: who uploads needs them
    import hmac

    message = b"rumor/pseudonym/1\x00" + day.isoformat().encode("ascii")
    return hmac.digest(secret, message, hashlib.sha256)[:PSEUDONYM_BYTES]
