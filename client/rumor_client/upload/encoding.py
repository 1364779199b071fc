"""The encoding of request bodies, reports or retractions: the same bytes on every retry."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import date

from rumor_client.state.report import Report
from rumor_shared.version import __version__
from rumor_shared.wire import MAX_BATCH_BYTES, MAX_BATCH_REPORTS

SDK = f"rumor-python/{__version__}"

# Below this a gzip header costs what it saves.
_GZIP_FROM = 1024


# What a body lists.
REPORTS = "reports"
RETRACTIONS = "retractions"


def encode_batch(
    day: date, pseudonym: bytes, reports: Sequence[Report], listed: str = REPORTS
) -> bytes:
    """Return the JSON body of a batch: reports of one day, in the order of their random ids.

    Ids are drawn uniformly after perturbation, so their order is a shuffle that says nothing of
    when or in which order the reports were made, and a retry gives the same bytes. A retraction has
    the fields of the report it takes back; `listed` says which of the two the body holds.
    """
    entries = b",".join(_entry(report) for report in sorted(reports, key=lambda r: r.id))
    return _head(day, pseudonym, listed) + entries + b"]}"


def batches(
    day: date, pseudonym: bytes, reports: Sequence[Report], room: int = MAX_BATCH_BYTES
) -> list[list[Report]]:
    """Split the reports of one day so that each batch keeps both limits of the wire.

    `room` is what a body may have in bytes; a report that is larger alone is a batch.
    """
    room -= len(_head(day, pseudonym, RETRACTIONS)) - len(b"]}")
    split: list[list[Report]] = []
    used = 0
    for report in reports:
        size = len(_entry(report)) + len(b",")
        if not split or len(split[-1]) >= MAX_BATCH_REPORTS or used + size > room:
            split.append([])
            used = 0
        split[-1].append(report)
        used += size
    return split


def compress(body: bytes) -> bytes | None:
    """Return the body as gzip, without a time in it, or None where it is too short to gain."""
    if len(body) < _GZIP_FROM:
        return None
    import gzip  # few uploads are large enough

    return gzip.compress(body, mtime=0)


def text_of(binary: bytes) -> str:
    """Return standard base64, as ids and payloads travel."""
    return b64encode(binary).decode("ascii")


def _head(day: date, pseudonym: bytes, listed: str) -> bytes:
    head = (
        f'{{"sdk":"{SDK}","day":"{day.isoformat()}","pseudonym":"{text_of(pseudonym)}","{listed}":['
    )
    return head.encode("ascii")


def _entry(report: Report) -> bytes:
    # No character of a metric's name (a-z 0-9 _ . -) or of base64 needs escaping in JSON.
    return (
        f'{{"id":"{text_of(report.id)}","metric":"{report.metric}","revision":{report.revision},'
        f'"cohort":{report.cohort},"payload":"{text_of(report.payload)}"}}'
    ).encode("ascii")
