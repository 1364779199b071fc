"""The faults that a client meets, one after the other, and what each of them demands of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rumor_shared.wire import JSON, PROBLEM, Verdict

if TYPE_CHECKING:
    from rumor_simulations.conformance.judge import Judge

# What each check demands, in the order of the script.
CHECKS = {
    "schema": "every request is what docs/protocol.md says, field by field",
    "same bytes": "a report is sent again with the same id, day, pseudonym and payload",
    "one day": "a batch, and a connection, holds one day; no two days share a pseudonym",
    "lost request": "a request without an answer is sent again",
    "lost answer": "a request that was counted, without an answer, is sent again",
    "503": "Retry-After is kept, and nothing is lost",
    "500": "a fault loses nothing",
    "portal": "a page with status 200 acknowledges nothing",
    "foreign": "JSON without results acknowledges nothing",
    "redirect": "a redirect is not followed, and acknowledges nothing",
    "413": "a batch that is too large is split, and nothing is lost",
    "400": "a batch that is refused is split until the refused report is alone; it is dropped",
    "verdicts": "accepted, duplicate and rejected leave; retry stays",
    "unknown verdict": "a verdict of a later release keeps the report",
    "stop": "after 401 no request comes by itself",
}
OPTIONAL = {
    "415": "a compressed body that is refused is sent uncompressed (if the client compresses)",
    "retraction": "a retraction has the fields of a report that was sent (if the client retracts)",
}
Reports = list[dict[str, Any]]
Step = Callable[["Judge", Reports, Mapping[str, str]], "Reply | None"]


@dataclass(frozen=True)
class Reply:
    """What is answered; `status` 0 closes the connection without a word."""

    status: int
    document: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    html: bool = False

    @property
    def body(self) -> bytes:
        """The bytes of the answer."""
        return b"<html>Log in</html>" if self.html else json.dumps(self.document).encode()

    @property
    def type(self) -> str:
        """The content type."""
        return "text/html" if self.html else JSON if self.status < 300 else PROBLEM


def script(retry_after: int) -> list[Step]:
    """Return the steps. A step answers a request, or gives None once it is through.

    Between two faults all is well for one request: a client's back-off starts anew, and the whole
    takes half a minute instead of an hour.
    """
    asked = {"Retry-After": str(retry_after)}
    faults: list[Step] = [
        _fault("lost request", Reply(0)),
        # For whoever stands outside the same; a client that counts on the difference is wrong.
        _fault("lost answer", Reply(0)),
        _fault("503", Reply(503, {"title": "busy"}, asked)),
        _fault("500", Reply(500, {"title": "fault"})),
        _fault("portal", Reply(200, html=True)),
        _fault("foreign", Reply(200, {"ok": True})),
        _fault("redirect", Reply(302, {"title": "moved"}, {"Location": "/elsewhere"})),
        _refuse_compression,
        _TooLarge(),
        _Poison(),
        _tell_apart,
        _tell_the_future,
    ]
    steps: list[Step] = []
    for fault in faults:
        steps += [fault, _Breath()]
    return steps


def _fault(check: str, reply: Reply) -> Step:
    def answer(judge: Judge, reports: Reports, headers: Mapping[str, str]) -> Reply | None:
        if judge.checks[check].seen:
            return None
        judge.owe(check, reports)
        return reply

    return answer


class _Breath:
    """One request without a fault: all of it is asked for again."""

    def __init__(self) -> None:
        self._drawn = False

    def __call__(self, judge: Judge, reports: Reports, headers: Mapping[str, str]) -> Reply | None:
        if self._drawn:
            return None
        self._drawn = True
        return judge.answer(reports, lambda place: Verdict.RETRY, "verdicts")


def _refuse_compression(judge: Judge, reports: Reports, headers: Mapping[str, str]) -> Reply | None:
    if judge.checks["415"].seen:
        return None
    if headers.get("content-encoding") != "gzip":
        # What was recorded a moment ago comes in a small batch of its own, which nobody compresses.
        return judge.gather(reports)
    judge.owe("415", reports)
    return Reply(415, {"title": "no gzip"})


class _TooLarge:
    """Refuse a batch for its size; the next must be smaller."""

    def __init__(self) -> None:
        self._size: int | None = None

    def __call__(self, judge: Judge, reports: Reports, headers: Mapping[str, str]) -> Reply | None:
        if self._size is not None:
            if len(reports) >= self._size:
                judge.fail("413", "the next batch was not smaller")
            return None
        gathered = judge.gather(reports)
        if gathered is not None:
            return gathered
        self._size = len(reports)
        judge.owe("413", reports)
        return Reply(413, {"title": "too large"})


class _Poison:
    """Refuse every batch that holds one report, until it is alone."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._alone = False

    def __call__(self, judge: Judge, reports: Reports, headers: Mapping[str, str]) -> Reply | None:
        if self._alone:
            return None
        if self._id is None:
            gathered = judge.gather(reports)
            if gathered is not None:
                return gathered
            self._id = min(report["id"] for report in reports)
        others = [report for report in reports if report["id"] != self._id]
        if len(others) == len(reports):
            return judge.answer(reports, lambda place: Verdict.RETRY, "400")
        judge.owe("400", others)
        if not others:
            self._alone = True
            judge.finish(self._id, "400")
        return Reply(400, {"title": "not the schema"})


def _tell_apart(judge: Judge, reports: Reports, headers: Mapping[str, str]) -> Reply | None:
    if judge.checks["verdicts"].seen:
        return None
    gathered = judge.gather(reports)
    if gathered is not None:
        return gathered
    verdicts = (Verdict.ACCEPTED, Verdict.DUPLICATE, Verdict.REJECTED, Verdict.RETRY)
    judge.owe("verdicts", [report for place, report in enumerate(reports) if place % 4 == 3])
    return judge.answer(reports, lambda place: verdicts[place % 4], "verdicts")


def _tell_the_future(judge: Judge, reports: Reports, headers: Mapping[str, str]) -> Reply | None:
    if judge.checks["unknown verdict"].seen:
        return None
    judge.owe("unknown verdict", reports)
    return judge.answer(reports, lambda place: "pondered", "unknown verdict")
