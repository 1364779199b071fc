"""ASGI middleware that sets the security headers of every answer, of the API and of the pages.

Verdicts are JSON that no browser shows: no address leads to a `POST`, and another site's page can
neither send one with this media type nor read its answer. They say not to guess the type, and
nothing that is for pages: the other headers would be a twentieth of a single report's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rumor_server.http.authentication import DEVICE

# What other sites' pages may be let in to by `cors_origins`; no page of ours is.
_API = "/v1/"


def content_policy(styles: str = "'self'") -> str:
    """Return the Content-Security-Policy of a page whose styles come from `styles`.

    A page has no script at all, so that a value which looks like one can't run, and nothing is
    loaded from elsewhere.
    """
    return (
        f"default-src 'none'; style-src {styles}; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


HEADERS = {
    "Content-Security-Policy": content_policy(),
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
        self._headers = _encoded(HEADERS)
        self._api_headers = _encoded(HEADERS | (_SHARED if cross_origin else {}))
        self._verdict_headers = _encoded(VERDICT_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_device = (
            scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in DEVICE
        )

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", [])
                if is_device and message["status"] == HTTPStatus.OK:
                    ours = self._verdict_headers
                else:
                    names = {name.lower() for name, _ in given}
                    is_api = scope["path"].startswith(_API)
                    headers = self._api_headers if is_api else self._headers
                    ours = [one for one in headers if one[0] not in names]
                message = {**message, "headers": [*given, *ours]}
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
