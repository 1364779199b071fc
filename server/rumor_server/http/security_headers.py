"""What every answer tells a browser: load nothing from elsewhere, embed this nowhere.

Verdicts are JSON that no browser shows: no address leads to a `POST`, and another site's page can
neither send one with this media type nor read its answer. They say not to guess the type, and
nothing that is for pages: the six other headers would be a twentieth of a single report's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rumor_server.http.authentication import DEVICE

# A page of ours loads only what this server sends. Styles may stand in the page: they can't run.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

VERDICT_HEADERS = {"X-Content-Type-Options": "nosniff"}

_SHARED = {"Cross-Origin-Resource-Policy": "cross-origin"}


class SecurityHeaders:
    """An ASGI application that adds to every answer of another the headers it didn't set itself."""

    def __init__(self, app: ASGIApp, *, cross_origin: bool = False) -> None:
        self._app = app
        self._headers = _encoded(HEADERS | (_SHARED if cross_origin else {}))
        self._verdict_headers = _encoded(VERDICT_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_device = (
            scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in DEVICE
        )

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_verdict = is_device and message["status"] == HTTPStatus.OK
                given = message.get("headers", [])
                names = {name.lower() for name, _ in given}
                headers = self._verdict_headers if is_verdict else self._headers
                ours = [one for one in headers if one[0] not in names]
                message = {**message, "headers": [*given, *ours]}
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
