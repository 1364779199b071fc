"""A fake collector: a transport that follows a script and counts each id once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rumor_client.errors import NoAnswer
from rumor_client.testing.script import Answer, answer, contents, refusal
from rumor_client.upload.transport import Request, Response
from rumor_shared.wire import RETRACTIONS_PATH, Retraction

Fields = Mapping[str, Any]


@dataclass
class FakeCollector:
    """Takes what is sent; the first requests meet `script` instead, in turn.

    `counted` holds the fields of each counted report by its base64 id, `retracted` those of what
    was taken back, a report that hadn't come among them. `verdicts` gives a metric's reports
    another verdict than "accepted": "rejected:too_late", "retry", "duplicate". A batch that holds a
    report for which `poison` is true is refused with 400.
    """

    script: list[Answer] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    counted: dict[str, Fields] = field(default_factory=dict)
    retracted: dict[str, Fields] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)
    poison: Callable[[Fields], bool] = lambda report: False

    def __call__(self, request: Request) -> Response:
        """Answer a request by the script, then honestly."""
        self.requests.append(request)
        if self.script:
            return self.script.pop(0)(request)
        return self.take(request)

    def take(self, request: Request) -> Response:
        """Count what is new, take back what is retracted, and give verdicts."""
        batch = contents(request)
        if request.url.endswith(RETRACTIONS_PATH):
            results = [self.take_back(report, batch["day"]) for report in batch["retractions"]]
        elif any(self.poison(report) for report in batch["reports"]):
            return refusal(400)(request)
        else:
            results = [self.judge(report, batch["day"]) for report in batch["reports"]]
        return answer(200, {"results": results, "server_day": batch["day"]})

    def judge(self, report: Fields, day: str) -> dict[str, str]:
        """Count a report if it is new, and return its entry of the answer."""
        scripted = self.verdicts.get(report["metric"])
        if scripted is not None:
            verdict, _, reason = scripted.partition(":")
            return {"id": report["id"], "verdict": verdict, "reason": reason, "detail": ""}
        known = self.counted.get(report["id"]) or self.retracted.get(report["id"])
        if known is not None:
            if known != {**report, "day": day}:
                raise AssertionError("a retry has other bytes")
            return {"id": report["id"], "verdict": "duplicate"}
        self.counted[report["id"]] = {**report, "day": day}
        return {"id": report["id"], "verdict": "accepted"}

    def take_back(self, report: Fields, day: str) -> dict[str, str]:
        """Retract a report if it was counted, and return its entry of the answer."""
        given = {**report, "day": day}
        if report["id"] in self.retracted:
            verdict = Retraction.ALREADY
        elif report["id"] not in self.counted:
            verdict = Retraction.NOT_COUNTED_YET
            self.retracted[report["id"]] = given
        elif self.counted[report["id"]] != given:
            verdict = Retraction.MISMATCH
        else:
            verdict = Retraction.RETRACTED
            self.retracted[report["id"]] = self.counted.pop(report["id"])
        return {"id": report["id"], "verdict": verdict, "detail": ""}

    def lose_answer(self, request: Request) -> Response:
        """Count, then drop the connection."""
        self.take(request)
        raise NoAnswer("ConnectionResetError")

    def fail_after_commit(self, request: Request) -> Response:
        """Count, then answer 503."""
        self.take(request)
        return refusal(503)(request)

    @property
    def batches(self) -> list[dict[str, Any]]:
        """What each request carried."""
        return [contents(request) for request in self.requests]
