"""uvicorn's HTTP protocol, which also cuts a socket whose request headers don't arrive.

uvicorn waits for headers for ever, on a fresh connection and after the first byte of a later
request: a few thousand silent sockets would use up the file descriptors.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


def cutting_protocol(header_seconds: float) -> type[asyncio.Protocol]:
    """Return a protocol class that gives each request's headers so many seconds."""

    class CuttingProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type] # chosen at run time
        """Cuts the connection when headers are due and none are complete."""

        _due: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_headers()

        def data_received(self, data: bytes) -> None:
            # Headers that come in one piece, as nearly all do, never pay for a timer.
            super().data_received(data)
            if self._is_answering():
                self._forget()
            elif self._due is None:
                self._expect_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _is_answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _expect_headers(self) -> None:
            self._due = asyncio.get_running_loop().call_later(header_seconds, self._cut)

        def _forget(self) -> None:
            if self._due is not None:
                self._due.cancel()
                self._due = None

        def _cut(self) -> None:
            self._due = None
            if not self._is_answering():
                self.transport.abort()

    return CuttingProtocol
