"""Errors as RFC 9457 problem documents: one shape on every route, nothing of the request in it.

No room below knows of HTTP; what its errors become stands in `OUTCOMES`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import msgspec
from starlette.responses import Response

from rumor_server.errors import (
    AccessRefused,
    BadRequest,
    BodyTooLarge,
    BodyTooSlow,
    BrokenGzip,
    DiskAlmostFull,
    KeyRequired,
    NotFound,
    Overloaded,
    StoreError,
    TooLarge,
    TooManyRequests,
    UnsupportedMedia,
)
from rumor_shared.wire import PROBLEM


class Outcome(NamedTuple):
    """What an error becomes: what a reader and a device hear, where its own words are for the log.

    What is refused unread would be read as the next request, were its socket kept.
    """

    status: int
    detail: str = ""
    device_detail: str = ""
    retry_after: int = 0
    closes: bool = False


# The nearest class in an error's ancestry counts, so that each has one.
OUTCOMES: Mapping[type[BaseException], Outcome] = {
    BadRequest: Outcome(400),
    NotFound: Outcome(404),
    UnsupportedMedia: Outcome(415),
    TooLarge: Outcome(413),
    BodyTooLarge: Outcome(413, closes=True),
    BrokenGzip: Outcome(400, closes=True),
    BodyTooSlow: Outcome(408, closes=True),
    AccessRefused: Outcome(403),
    KeyRequired: Outcome(401),
    TooManyRequests: Outcome(429),
    Overloaded: Outcome(
        503,
        "the collector has too much to do just now; ask again later",
        "too many reports wait to be written; send them again later",
    ),
    StoreError: Outcome(
        503,
        "the database can't be used just now; ask again in some seconds",
        "the commit failed or its outcome is unknown; send the same reports again",
        retry_after=5,
    ),
    # A full disk is mended by people: no use in asking again within minutes.
    DiskAlmostFull: Outcome(
        507,
        "the collector's disk is almost full; ask again later",
        "the collector's disk is almost full; send the same reports again later",
        retry_after=600,
    ),
    Exception: Outcome(500, "the collector failed; its operator finds the cause in the log"),
}


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


def outcome_of(error: Exception) -> Outcome:
    """Return what an exception becomes: as its nearest ancestor in `OUTCOMES`."""
    return next(OUTCOMES[kind] for kind in type(error).__mro__ if kind in OUTCOMES)


def status_of(error: Exception) -> int:
    """Return the HTTP status of an exception."""
    return outcome_of(error).status


def problem_of(error: Exception, *, sends_reports: bool = False) -> Response:
    """Return the response for an exception of ours, and 500 for any other.

    Who `sends_reports` hears what to do with them; everyone else, when to ask again.
    """
    outcome = outcome_of(error)
    wait = outcome.retry_after
    if isinstance(error, Overloaded | TooManyRequests):
        wait = error.retry_after
    detail = (outcome.device_detail if sends_reports else "") or outcome.detail or str(error)
    response = problem(outcome.status, detail)
    if wait:
        response.headers["Retry-After"] = str(wait)
    if outcome.closes:
        response.headers["Connection"] = "close"
    if isinstance(error, KeyRequired):
        # A line each: browsers look for a scheme that they know at the beginning of one.
        for challenge in error.challenges:
            response.headers.append("WWW-Authenticate", challenge)
    return response
