"""Bounds on the questions of analysts that are being answered or wait: in number and in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from rumor_server.errors import TooManyQueries
from rumor_server.http.candidates import MAX_BODY_BYTES

# Four are computed at a time; sixteen more for each of them wait less than a reader does.
MOST_QUERIES = 64
# Candidates take some fourteen times their bytes while they are decoded: a quarter of a GiB.
MOST_BYTES = 2 * MAX_BODY_BYTES
_RETRY_SECONDS = 5


class QueryLimits:
    """What is being answered now. Used on the event loop alone."""

    def __init__(self, queries: int = MOST_QUERIES, held: int = MOST_BYTES) -> None:
        self._queries = queries
        self._bytes = held

    @contextmanager
    def admitted(self, request: Request) -> Iterator[None]:
        """Count a request, body and all, as long as it is answered. Raises TooManyQueries."""
        held = _body_bytes(request)
        if self._queries < 1 or self._bytes < held:
            raise TooManyQueries(_RETRY_SECONDS)
        self._queries -= 1
        self._bytes -= held
        try:
            yield
        finally:
            self._queries += 1
            self._bytes += held


def _body_bytes(request: Request) -> int:
    """Return how many bytes a body may have: as many as it says, if they are not compressed."""
    if request.method != "POST":
        return 0
    length = request.headers.get("content-length", "")
    if "content-encoding" in request.headers or not (length.isascii() and length.isdigit()):
        return MAX_BODY_BYTES
    return min(int(length), MAX_BODY_BYTES)
