"""ASGI middleware that bounds how many requests are answered at a time.

A request takes its slot once its body is there: while a client sends slowly, others are answered.
What tells whether the process is well takes none.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rumor_server.errors import Overloaded
from rumor_server.http.counters import Counters
from rumor_server.http.problem import problem_of

_OUTSIDE = frozenset({"/healthz", "/readyz", "/metrics", "/version"})
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_RETRY_SECONDS = 2


class RequestSlots:
    """At most `slots` requests at a time reach `app` whole; others hear 503 and Retry-After."""

    def __init__(self, app: ASGIApp, slots: int, counters: Counters) -> None:
        self._app = app
        self._free = slots
        self._counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Its body's end raises Overloaded where no slot is free."""
        if scope["type"] != "http" or scope["path"] in _OUTSIDE:
            await self._app(scope, receive, send)
            return
        taken = False
        if scope["method"] in _WITHOUT_BODY:
            try:
                self._take()
            except Overloaded as error:
                await problem_of(error)(scope, receive, send)
                return
            taken = True

        async def receive_whole() -> Message:
            nonlocal taken
            message = await receive()
            if not taken and not message.get("more_body", False):
                self._take()
                taken = True
            return message

        try:
            await self._app(scope, receive if taken else receive_whole, send)
        finally:
            self._free += taken

    def _take(self) -> None:
        if self._free <= 0:
            self._counters.refused[503] += 1
            raise Overloaded(_RETRY_SECONDS)
        self._free -= 1
