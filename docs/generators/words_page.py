"""The reference of words: every verdict, reason, status and cap that the code can say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from docs.generators.explained import NOTICE, check_explained, meanings_of, table

from rumor_client.consent.consent import Choice
from rumor_client.recording.result import Cap, RecordStatus
from rumor_client.state import report
from rumor_client.upload.result import UploadStatus
from rumor_server.access import Scope
from rumor_server.queries.question import Status
from rumor_server.queries.ranks import RankMethod
from rumor_shared.wire import Reason, Retraction, Verdict


class Words(NamedTuple):
    """A closed list of words, who says them, and what each means."""

    title: str
    about: str
    found: Iterable[str]
    meanings: Mapping[str, str]


def _of(kind: type[StrEnum]) -> tuple[list[str], Mapping[str, str]]:
    return [one.value for one in kind], meanings_of(kind)


WORDS = (
    Words(
        "Verdicts",
        "What the collector says of one report, after the commit is durable.",
        *_of(Verdict),
    ),
    Words(
        "Reasons",
        "Why a report was not accepted.",
        *_of(Reason),
    ),
    Words(
        "Verdicts on a retraction",
        "What the collector says when a device takes a report back.",
        *_of(Retraction),
    ),
    Words(
        "What `record` answers",
        "`Result.status`, on the device.",
        *_of(RecordStatus),
    ),
    Words(
        "Caps",
        "`Result.account`, the cap that a report would have passed.",
        *_of(Cap),
    ),
    Words(
        "Consent",
        "`Effective.choice`, for each purpose.",
        *_of(Choice),
    ),
    Words(
        "How an upload ended",
        "`FlushResult.status`.",
        *_of(UploadStatus),
    ),
    Words(
        "Drops",
        "Under which name `Status.dropped` counts reports that were never answered for. A report "
        "that was on its way is counted under `unconfirmed:` and the name: it may have been "
        "counted by the collector. What the collector rejected is counted under `rejected:` and "
        "its reason.",
        (
            *(report.DENIED, report.TOO_OLD, report.TOO_FAR_AHEAD, report.OUTBOX_FULL),
            *(report.REFUSED, report.TOO_LARGE),
        ),
        {
            "denied": "The owner denied.",
            "too_old": "It waited longer than `max_age_days`.",
            "too_far_ahead": "It was dated further ahead than `max_age_days`, by a wrong clock.",
            "outbox_full": "The outbox was full, and it was the oldest.",
            "refused": "The collector answered 400 to it alone.",
            "too_large": "The collector answered 413 to it alone.",
        },
    ),
    Words(
        "Status of an estimate",
        "`status` of `/v1/metrics/{metric}/estimates`.",
        *_of(Status),
    ),
    Words(
        "How ranks are confirmed",
        "`method` of `/v1/metrics/{metric}/ranks`.",
        *_of(RankMethod),
    ),
    Words(
        "Scopes of keys",
        "What a key of `rumor keys create` is good for.",
        *_of(Scope),
    ),
)


def page() -> str:
    """Return the page. Raises Unexplained for a word without a meaning, or the reverse."""
    lines = [
        NOTICE,
        "",
        "# Verdicts, reasons and statuses",
        "",
        "Each list is closed: the code says no other word.",
        "",
    ]
    for words in WORDS:
        check_explained(words.title, words.found, words.meanings)
        lines += [f"## {words.title}", "", words.about, ""]
        rows = ((f"`{word}`", words.meanings[word]) for word in words.found)
        lines += table(("word", "means"), rows)
    return "\n".join(lines).rstrip() + "\n"
