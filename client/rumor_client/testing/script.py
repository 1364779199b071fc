"""Scripted responses of the fake collector: what may happen to one request."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from typing import Any

from rumor_client.errors import NoAnswer
from rumor_client.upload.transport import Request, Response
from rumor_shared.wire import JSON, PROBLEM

Answer = Callable[[Request], Response]


def contents(request: Request) -> dict[str, Any]:
    """Return the JSON object a request carries, inflated. Raises ValueError for anything else."""
    packed = request.headers.get("Content-Encoding") == "gzip"
    document = json.loads(gzip.decompress(request.body) if packed else request.body)
    if not isinstance(document, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004 - as json's own errors
    return document


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
