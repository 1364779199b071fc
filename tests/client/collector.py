"""A collector that is a plain function: it follows a script and counts each id once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rumor_client import NoAnswer, Request, Response
from rumor_shared.wire import JSON, PROBLEM

Answer = Callable[[Request], Response]


def contents(request: Request) -> dict[str, Any]:
    """Return the JSON a request carries."""
    packed = request.headers.get("Content-Encoding") == "gzip"
    document = json.loads(gzip.decompress(request.body) if packed else request.body)
    assert isinstance(document, dict)
    return document


@dataclass
class Collector:
    """Takes what is sent; the first requests meet `script` instead, in turn."""

    script: list[Answer] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    counted: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)
    poison: Callable[[Mapping[str, Any]], bool] = lambda report: False

    def __call__(self, request: Request) -> Response:
        """Answer a request by the script, then honestly."""
        self.requests.append(request)
        if self.script:
            return self.script.pop(0)(request)
        return self.take(request)

    def take(self, request: Request) -> Response:
        """Count what is new, and give verdicts."""
        batch = contents(request)
        if any(self.poison(report) for report in batch["reports"]):
            return refusal(400)(request)
        results = [self._verdict(report) for report in batch["reports"]]
        return answer(200, {"results": results, "server_day": batch["day"]})

    def _verdict(self, report: Mapping[str, Any]) -> dict[str, str]:
        told = self.verdicts.get(report["metric"])
        if told is not None:
            verdict, _, reason = told.partition(":")
            return {"id": report["id"], "verdict": verdict, "reason": reason, "detail": ""}
        if report["id"] in self.counted:
            assert self.counted[report["id"]] == report, "a retry has other bytes"
            return {"id": report["id"], "verdict": "duplicate"}
        self.counted[report["id"]] = report
        return {"id": report["id"], "verdict": "accepted"}

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


def answer(status: int, document: object, **headers: str) -> Response:
    """Return a JSON answer."""
    body = json.dumps(document).encode()
    return Response(status, {"content-type": JSON, **headers}, body)


def refusal(status: int, **headers: str) -> Answer:
    """Return what answers every request with a problem of this status."""
    problem = Response(status, {"content-type": PROBLEM, **headers}, b'{"title": "no"}')
    return lambda request: problem


def page(status: int) -> Answer:
    """Return what answers every request with a captive portal's page."""
    found = Response(status, {"content-type": "text/html; charset=utf-8"}, b"<html>Log in</html>")
    return lambda request: found


def lost(request: Request) -> Response:
    """Lose the request on the way."""
    raise NoAnswer("TimeoutError")


def times(count: int, step: Answer) -> Iterable[Answer]:
    """Repeat a step of a script."""
    return [step] * count
