"""What every answer tells a browser: load nothing from elsewhere, embed this nowhere."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

_SHARED = {"Cross-Origin-Resource-Policy": "cross-origin"}


class SecurityHeaders:
    """An ASGI application that adds to every answer of another the headers it didn't set itself."""

    def __init__(self, app: ASGIApp, *, cross_origin: bool = False) -> None:
        self._app = app
        headers = HEADERS | (_SHARED if cross_origin else {})
        self._headers = [(k.lower().encode(), v.encode()) for k, v in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", [])
                names = {name.lower() for name, _ in given}
                ours = [one for one in self._headers if one[0] not in names]
                message = {**message, "headers": [*given, *ours]}
            await send(message)

        await self._app(scope, receive, send_with_headers)
