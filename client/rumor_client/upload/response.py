"""The parser of responses: verdicts by report id, read from a 200 that is the collector's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from rumor_client.state.report import Report
from rumor_client.upload.encoding import text_of
from rumor_client.upload.transport import Response
from rumor_shared.wire import JSON, PROBLEM, Reason, Retraction, Verdict

T = TypeVar("T")


class ReportVerdict(NamedTuple):
    """The verdict on one report."""

    verdict: Verdict
    reason: Reason | None


def is_ours(response: Response) -> bool:
    """Return whether an error is the collector's own: a problem of RFC 9457.

    A proxy, a portal or a server in front of it answers with the same statuses, in other words.
    """
    # 407 is a proxy's, whatever it says.
    return _media_type(response) == PROBLEM and response.status != 407


def verdicts(response: Response, reports: Mapping[str, Report]) -> dict[str, ReportVerdict] | None:
    """Return the verdict on each report that was given one, by the base64 of its id.

    `reports` are those that were sent. Returns None where the answer isn't the collector's, which
    acknowledges nothing: it isn't JSON, lacks `results` or `server_day`, or speaks of a report
    that was not sent.
    """
    return _results(response, reports, _report_verdict)


def retractions(response: Response, reports: Mapping[str, Report]) -> dict[str, Retraction] | None:
    """Return the verdict on each retraction that was given one, by the base64 of the report's id.

    None where the answer isn't the collector's, as for `verdicts`.
    """
    return _results(response, reports, _retracted)


def _results(
    response: Response, reports: Mapping[str, Report], read: Callable[[Mapping[str, Any]], T | None]
) -> dict[str, T] | None:
    if response.status != 200 or _media_type(response) != JSON:
        return None
    import json  # first needed with the first answer

    try:
        document = json.loads(response.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("server_day"), str):
        return None
    results = document.get("results")
    if not isinstance(results, list):
        return None
    found: dict[str, T] = {}
    for entry in results:
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            return None
        if entry["id"] not in reports:
            return None
        answered = read(entry)
        if answered is not None:
            found[entry["id"]] = answered
    return found


def by_text(reports: Sequence[Report]) -> dict[str, Report]:
    """Return the reports by their ids as they travel."""
    return {text_of(report.id): report for report in reports}


def _report_verdict(entry: Mapping[str, Any]) -> ReportVerdict | None:
    """Return the verdict of one entry, or None for one that this release doesn't know."""
    try:
        verdict = Verdict(str(entry.get("verdict")))
    except ValueError:
        return None
    try:
        return ReportVerdict(verdict, Reason(str(entry.get("reason"))))
    except ValueError:
        # A later collector may have more reasons: the verdict counts.
        return ReportVerdict(verdict, None)


def _retracted(entry: Mapping[str, Any]) -> Retraction | None:
    try:
        return Retraction(str(entry.get("verdict")))
    except ValueError:
        return None


def _media_type(response: Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()
