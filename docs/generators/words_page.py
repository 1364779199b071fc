"""The reference of words: every verdict, reason, status and cap that the code can say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from docs.generators.explained import NOTICE, check_explained, table

from rumor_client.consent.consent import Choice
from rumor_client.recording.result import Cap, RecordStatus
from rumor_client.state import report
from rumor_client.upload.result import UploadStatus
from rumor_server.operations.keyring import Scope
from rumor_server.queries.question import Status
from rumor_shared.wire import Reason, Retraction, Verdict


class Words(NamedTuple):
    """A closed list of words, who says them, and what each means."""

    title: str
    about: str
    found: Iterable[str]
    meanings: Mapping[str, str]


def _of(kind: type[StrEnum]) -> list[str]:
    return [one.value for one in kind]


WORDS = (
    Words(
        "Verdicts",
        "What the collector says of one report, after the commit is durable.",
        _of(Verdict),
        {
            "accepted": "Counted, durably, and once.",
            "duplicate": "This very report was counted before. The device forgets it all the same.",
            "rejected": "It will never be counted; the reason says why. The device drops it.",
            "retry": "It can't be counted yet. The device keeps it.",
        },
    ),
    Words(
        "Reasons",
        "Why a report was not accepted.",
        _of(Reason),
        {
            "unknown_metric": "The collector's registry has no metric of this name. Ship the same "
            "registry with the app and the collector.",
            "revision_mismatch": "The collector counts another one. The app is older or newer.",
            "metric_expired": "The report's day is after the metric's last valid day.",
            "malformed_payload": "The mechanism can't have made these bytes: a fault of the "
            "client, or another registry under the same revision.",
            "too_early": "The report's day is after the server's. The device's clock is ahead.",
            "too_late": "The report's day is closed: it is older than `max_age_days`.",
            "budget_exceeded": "The pseudonym's account for that day is used up. `detail` says how "
            "much was asked and is left.",
            "conflicting_duplicate": "Another report with this id was counted. Ids are drawn from "
            "128 random bits: a copied state file, or forgery.",
        },
    ),
    Words(
        "Verdicts on a retraction",
        "What the collector says when a device takes a report back.",
        _of(Retraction),
        {
            "retracted": "Subtracted from the tally.",
            "already": "It was retracted before.",
            "not_counted_yet": "The report has not arrived. It will not be counted if it does.",
            "mismatch": "The report of this id had other content. Nothing was changed.",
            "too_late": "The day is closed, and its ids are forgotten.",
        },
    ),
    Words(
        "What `record` answers",
        "`Result.status`, on the device.",
        _of(RecordStatus),
        {
            "recorded": "Perturbed, charged, and stored to be sent.",
            "no_consent": "Nothing happened and nothing was spent: nobody said yes.",
            "expired": "The metric's last valid day is over.",
            "budget_exceeded": "A cap would be passed. The result says which, how much was asked "
            "and is left, and until when.",
            "busy": "Another thread or process held the state for 250 ms. Nothing was spent.",
            "unavailable": "The state can't be read or written, such as on a full disk.",
            "closed": "The client was closed before.",
        },
    ),
    Words(
        "Caps",
        "`Result.account`, the cap that a report would have passed.",
        _of(Cap),
        {
            "metric": "The metric's `daily_epsilon`.",
            "family": "The daily allowance of the metric's family.",
            "day": "The registry's `daily_epsilon`, over all metrics.",
            "app_day": "The app's `daily_cap`.",
            "metric_life": "The metric's `lifetime_epsilon`.",
            "family_life": "The lifetime allowance of the metric's family.",
            "life": "The registry's `lifetime_epsilon`, over all metrics.",
            "app_life": "The app's `lifetime_cap`.",
        },
    ),
    Words(
        "Consent",
        "`Effective.choice`, for each purpose.",
        _of(Choice),
        {
            "unset": "Nobody was asked. Nothing is recorded.",
            "granted": "The owner said yes, and neither policy nor environment says no.",
            "denied": "The owner, a policy or the environment said no.",
        },
    ),
    Words(
        "How an upload ended",
        "`FlushResult.status`.",
        _of(UploadStatus),
        {
            "done": "All that waited was sent and answered.",
            "later": "It has to be tried again; `retry_in` says when.",
            "stopped": "The collector refuses this client until someone mends key or endpoint.",
            "timeout": "Time was up.",
            "elsewhere": "Another process of the app is uploading.",
            "off": "There is no endpoint, or no consent for some of what waits.",
        },
    ),
    Words(
        "Drops",
        "Under which name `Status.dropped` counts reports that were never answered for. A report "
        "that was on its way is counted under `unconfirmed:` and the name: it may have been "
        "counted by the collector. What the collector rejected is counted under `rejected:` and "
        "its reason.",
        (report.DENIED, report.TOO_OLD, report.OUTBOX_FULL, report.REFUSED, report.TOO_LARGE),
        {
            "denied": "The owner denied.",
            "too_old": "It waited longer than `max_age_days`.",
            "outbox_full": "The outbox was full, and it was the oldest.",
            "refused": "The collector answered 400 to it alone.",
            "too_large": "The collector answered 413 to it alone.",
        },
    ),
    Words(
        "Status of an estimate",
        "`status` of `/v1/metrics/{metric}/estimates`.",
        _of(Status),
        {
            "ok": "There are rows with numbers.",
            "no_data": "No report was counted on these days: n is 0 and all else null.",
            "withheld": "Fewer than `min_reports` were counted; `missing` says how many more.",
        },
    ),
    Words(
        "Scopes of keys",
        "What a key of `rumor keys create` is good for.",
        _of(Scope),
        {
            "ingest": "To send and to retract reports.",
            "analyst": "To read metrics, estimates and the dashboard.",
            "admin": "To read all that an analyst may, and `/metrics`.",
        },
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
