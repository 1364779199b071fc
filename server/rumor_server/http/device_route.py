"""A route that devices call, as near to bare ASGI as it gets: all others are idle by comparison.

Routing, validation and serialisation of a framework would cost more than the decoding, hashing and
counting of a report. The OpenAPI document takes its schemas from the structs that decode here, so
it can't say anything else.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from http import HTTPStatus

from starlette.types import Receive, Scope, Send

from rumor_server.errors import log_fault
from rumor_server.http.body import Disconnected, media_type, read_body
from rumor_server.http.problem import problem, problem_of
from rumor_shared.wire import JSON

log = logging.getLogger(__name__)


class DeviceRoute(ABC):
    """An ASGI application of one route: a body in, after at most `body_seconds`, and JSON out."""

    def __init__(self, body_seconds: float) -> None:
        self._body_seconds = body_seconds

    @abstractmethod
    async def reply(self, body: bytes, kind: str) -> bytes:
        """Return the JSON that answers a body of a media type; errors become problems."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "POST":
            refusal = problem(405, "this is sent with POST", {"Allow": "POST"})
            await refusal(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in scope["headers"]
            if name in _READ
        }
        try:
            kind = media_type(headers)
            body = await self.reply(await read_body(receive, headers, self._body_seconds), kind)
        except Disconnected:
            return
        except Exception as error:
            response = problem_of(error, sends_reports=True)
            if response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
                log_fault(log, "a batch", error)
            await response(scope, receive, send)
            return
        # As a framework's response would, in a third of its time.
        answer = [(b"content-type", _JSON), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": answer})
        await send({"type": "http.response.body", "body": body})


# What a body's reading depends on.
_READ = frozenset({b"content-type", b"content-encoding", b"content-length", b"expect"})
_JSON = JSON.encode()
