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
    """Counted, durably, and once."""
    DUPLICATE = "duplicate"
    """This very report was counted before. The device forgets it all the same."""
    REJECTED = "rejected"
    """It will never be counted; the reason says why. The device drops it."""
    RETRY = "retry"
    """It can't be counted yet. The device keeps it."""


class Reason(StrEnum):
    """Why a report was not accepted: a closed list."""

    UNKNOWN_METRIC = "unknown_metric"
    """The collector's registry has no metric of this name. Ship the same registry with the app
    and the collector."""
    REVISION_MISMATCH = "revision_mismatch"
    """The collector counts another one. The app is older or newer."""
    METRIC_EXPIRED = "metric_expired"
    """The report's day is after the metric's last valid day."""
    MALFORMED_PAYLOAD = "malformed_payload"
    """The mechanism can't have made these bytes: a fault of the client, or another registry
    under the same revision."""
    TOO_EARLY = "too_early"
    """The report's day is after the server's. The device's clock is ahead."""
    TOO_LATE = "too_late"
    """The report's day is closed: it is older than `max_age_days`."""
    BUDGET_EXCEEDED = "budget_exceeded"
    """The pseudonym's account for that day is used up. `detail` says how much was asked and is
    left."""
    CLOCK_IN_DOUBT = "clock_in_doubt"
    """The report is too old by the collector's clock, and that clock may be wrong: with verdict
    `retry`."""
    CONFLICTING_DUPLICATE = "conflicting_duplicate"
    """Another report with this id was counted. Ids are drawn from 128 random bits: a copied
    state file, or forgery."""


class Retraction(StrEnum):
    """What the server says of one retraction."""

    RETRACTED = "retracted"
    """Subtracted from the tally."""
    ALREADY = "already"
    """It was retracted before."""
    NOT_COUNTED_YET = "not_counted_yet"
    """The report has not arrived. It will not be counted if it does."""
    MISMATCH = "mismatch"
    """The report of this id had other content. Nothing was changed."""
    TOO_LATE = "too_late"
    """The day is closed, and its ids are forgotten."""


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
