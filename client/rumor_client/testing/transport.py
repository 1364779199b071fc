"""A recording transport: it keeps what passes through it."""

from __future__ import annotations

from rumor_client.upload.transport import Request, Response, Transport


class RecordingTransport:
    """Hands each request to `inner`, and keeps it with what came back.

    `exchanges` holds pairs of request and response; the response is None where there was none.
    """

    def __init__(self, inner: Transport) -> None:
        self.exchanges: list[tuple[Request, Response | None]] = []
        self._inner = inner

    def __call__(self, request: Request) -> Response:
        """Send through the inner transport. Raises what that raises."""
        response: Response | None = None
        try:
            response = self._inner(request)
            return response
        finally:
            self.exchanges.append((request, response))

    @property
    def requests(self) -> list[Request]:
        """The requests, in the order in which they ended."""
        return [request for request, _ in self.exchanges]
