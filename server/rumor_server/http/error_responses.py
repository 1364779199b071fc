"""What the framework's own errors and ours become on every route but the devices': problems."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rumor_server.errors import BadRequest, Overloaded, StoreError
from rumor_server.http.body import Disconnected
from rumor_server.http.head import HeadAsGet, allowed
from rumor_server.http.problem import problem, problem_of
from rumor_server.queries.question import LEAST_ALPHA

# What each parameter and field must be. Pydantic's own words may quote what was sent.
_EXPECTED = {
    "from": "is not a day; write YYYY-MM-DD",
    "to": "is not a day; write YYYY-MM-DD",
    "revision": "is not a revision; write a whole number from 1",
    "compare_from": "is not a day; write YYYY-MM-DD",
    "compare_to": "is not a day; write YYYY-MM-DD",
    "of": "is not whose change is asked for; write population or devices",
    "alpha": f"is not from {LEAST_ALPHA:g} to 1; write a number such as 0.05",
    "fakes": "is not between 0 and 1; write a share such as 0.01",
    "robust": "is not between 0 and 1; write a share such as 0.05",
    "format": "is not a format; write json or csv",
    "limit": "is not a number of rows from 1; follow the links instead of counting",
    "offset": "is not a number of rows from 0; follow the links instead of counting",
    "candidate": "is not a list of texts of a possible length",
}


def answer_errors(app: FastAPI) -> None:
    """Have every error of an application answered as a problem, and HEAD not as an error."""
    app.add_middleware(HeadAsGet)
    app.add_exception_handler(Disconnected, _nobody)
    for kind in (BadRequest, Overloaded, StoreError, Exception):
        app.add_exception_handler(kind, _failed)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)


async def _nobody(request: Request, error: Exception) -> Response:
    # The client has gone; the framework wants something to throw away.
    return Response(status_code=400)


async def _failed(request: Request, error: Exception) -> Response:
    return problem_of(error)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    details = {404: "there is nothing here; see /openapi.json", 405: "see Allow for the methods"}
    detail = details.get(error.status_code, "the request can't be answered")
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = allowed(request.app.routes, request.scope)
    return problem(error.status_code, detail, headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what it is registered for
    words = [str(word) for word in error.errors()[0]["loc"][:2]]
    place, name = words[0], words[1] if len(words) > 1 else ""
    if name in _EXPECTED:
        return problem(400, f"{place}.{name}: {_EXPECTED[name]}")
    return problem(
        400, f"the {place} holds something else than this route takes; see /openapi.json"
    )
