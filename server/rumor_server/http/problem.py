"""Errors as RFC 9457 problem documents: one shape on every route, nothing of the request in it."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.responses import Response

from rumor_server.errors import (
    AccessRefused,
    BadRequest,
    DiskAlmostFull,
    Overloaded,
    StoreError,
    TooManyRequests,
)
from rumor_shared.wire import PROBLEM

# A full disk is mended by people: no use in asking again within minutes.
_DISK_RETRY_SECONDS = 600
_STORE_RETRY_SECONDS = 5


class Problem(msgspec.Struct, frozen=True):
    """What went wrong, and what to do about it."""

    type: str
    title: str
    status: int
    detail: str


def document_of(status: int, detail: str) -> Problem:
    """Return the document for an error. `detail` says what to do and repeats no submitted value."""
    return Problem("about:blank", HTTPStatus(status).phrase, status, detail)


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return the response for an error; see `document_of`."""
    body = msgspec.json.encode(document_of(status, detail))
    return Response(body, status_code=status, headers=headers, media_type=PROBLEM)


def problem_of(error: Exception) -> Response:
    """Return the response for an exception of ours, and 500 for any other."""
    if isinstance(error, BadRequest):
        return problem(error.status, error.detail, {"Connection": "close"} if error.close else None)
    if isinstance(error, AccessRefused):
        challenge = {} if error.challenge is None else {"WWW-Authenticate": error.challenge}
        return problem(error.status, error.detail, challenge)
    if isinstance(error, TooManyRequests):
        return problem(429, str(error), {"Retry-After": str(error.retry_after)})
    if isinstance(error, Overloaded):
        return problem(503, str(error), {"Retry-After": str(error.retry_after)})
    if isinstance(error, DiskAlmostFull):
        return problem(
            507,
            "the collector's disk is almost full; send the same reports again later",
            {"Retry-After": str(_DISK_RETRY_SECONDS)},
        )
    if isinstance(error, StoreError):
        return problem(
            503,
            "the commit failed or its outcome is unknown; send the same reports again",
            {"Retry-After": str(_STORE_RETRY_SECONDS)},
        )
    return problem(500, "the collector failed; its operator finds the cause in the log")
