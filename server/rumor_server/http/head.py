"""HEAD on every route that answers GET, and what a route allows (RFC 9110, sections 9.3.2, 10.2.1).

The framework routes each method by itself: it would answer HEAD with 405, and name in Allow only
the methods of the first route that a path has.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class HeadAsGet:
    """An ASGI application that answers HEAD as another answers GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, send_head)


def allowed(routes: Collection[BaseRoute], scope: Scope) -> str:
    """Return what Allow says of the path in `scope`: the methods that one of its routes takes."""
    methods = {
        method
        for method in _METHODS
        for route in routes
        if route.matches({**scope, "method": method})[0] is Match.FULL
    }
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))
