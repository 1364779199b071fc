"""HTTP/1.1 connections with a bound on every wait: uvicorn's protocol over httptools, and timers.

uvicorn waits for ever for headers and for a client that doesn't read, and takes as many sockets as
come. Here

- headers have `header_seconds`, and at most `MAX_HEAD_BYTES`;
- a client that reads nothing for `write_seconds` is cut, never closed politely: a polite close
  waits until it has read;
- there are at most so many connections: beyond them the one that has kept the server waiting
  longest makes room;
- an upgrade that nothing here takes (h2c, a WebSocket) is passed over, and the request answered.

The parser is httptools whatever else is installed, so the same bytes have one meaning everywhere:
what two programs could read as two different requests (a length and chunks, bare line feeds, a
blank before a colon) it refuses.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rumor_server.errors import Overloaded
from rumor_server.http.problem import problem, problem_of
from rumor_server.operations.logs import Throttled

# As much as other servers take: nginx 32 KiB, h11 64 KiB.
MAX_HEAD_BYTES = 64 << 10
# What a client has to take in `write_seconds`: asyncio buffers 64 KiB and lets the application go
# on below 16. The slowest radio of a phone does 5 KiB a second.
LEAST_PROGRESS_BYTES = 48 << 10
# A stop that cut a task off lets what it still says out for so long before sockets are aborted.
LAST_WORDS_SECONDS = 0.5
_NO_HTTP = "this is not an HTTP/1.1 request, or one with two meanings"
_RETRY_SECONDS = 2
# What says where a body ends.
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})

log = Throttled(logging.getLogger(__name__))


class Bounds:
    """What all connections of a server share: their bounds, and who keeps it waiting."""

    def __init__(
        self,
        *,
        header_seconds: float,
        write_seconds: float,
        drain_seconds: float,
        connections: int,
    ) -> None:
        self.header_seconds = header_seconds
        self.write_seconds = write_seconds
        self.drain_seconds = drain_seconds
        self.connections = connections
        # Those whose client has to do something next, who has done nothing for longest first.
        self.waiting: dict[BoundedConnection, None] = {}

    def make_room(self) -> bool:
        """Cut the connection that has kept the server waiting longest; False where none does."""
        slowest = next(iter(self.waiting), None)
        if slowest is None:
            return False
        slowest.cut()
        return True


class BoundedConnection(HttpToolsProtocol):
    """One connection. `bounds` is set on a subclass, since uvicorn makes the instances."""

    bounds: Bounds
    _headers_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _unread = 0

    def connection_made(self, transport: Any) -> None:
        """Take a connection, or refuse it where there are too many that are being answered."""
        super().connection_made(transport)
        if len(self.connections) > self.bounds.connections and not self.bounds.make_room():
            log.warning("a connection was refused: all %d are in use", self.bounds.connections)
            self._refuse(problem_of(Overloaded(_RETRY_SECONDS)))
            return
        self.bounds.waiting[self] = None
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Read what came."""
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except httptools.HttpParserError:
            log.info("a request was refused: it is no HTTP/1.1, or ambiguous")
            self._refuse(problem(400, _NO_HTTP))
            return
        # Headers that come in one piece, as nearly all do, never pay for a timer.
        if self._is_answering():
            self._forget_headers()
        elif not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(problem(431, f"headers have at most {MAX_HEAD_BYTES} bytes"))
            elif self._headers_due is None:
                self._expect_headers()

    def _feed(self, data: bytes) -> None:
        """Parse what came. Raises HttpParserError."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # The parser takes what follows the headers for another protocol. It is the body.
            framing = [b"%s: %s\r\n" % one for one in self.headers if one[0] in _FRAMING]
            self.parser = httptools.HttpRequestParser(_Rest(self))
            self.parser.feed_data(b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(framing))
            self._feed(data[upgrade.args[0] :])

    def on_message_complete(self) -> None:
        """Note that it is the server's turn."""
        if self.parser.should_upgrade():
            return
        self.bounds.waiting.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Note that it is the client's turn, to read and to ask again."""
        super().on_response_complete()
        self._head_bytes = 0
        if not self.pipeline:
            self.bounds.waiting[self] = None
        if self.transport.get_write_buffer_size():
            self._expect_reading()

    def pause_writing(self) -> None:
        """Give the client its time to read."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """Note that the client reads; what is left has its time anew."""
        super().resume_writing()
        self._forget_reading()
        if self.transport.get_write_buffer_size():
            self._expect_reading()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that was idle for too long."""
        self._close()

    def shutdown(self) -> None:
        """Begin the end: let what is being answered be answered, but not for ever."""
        super().shutdown()
        self.loop.call_later(self.bounds.drain_seconds + LAST_WORDS_SECONDS, self.cut)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget_headers()
        self._forget_reading()
        self.bounds.waiting.pop(self, None)
        super().connection_lost(exc)

    def cut(self) -> None:
        """End the connection at once, whether or not the client reads."""
        self.bounds.waiting.pop(self, None)
        self.transport.abort()

    def _refuse(self, response: Any) -> None:
        """Answer in place of the application, and close."""
        if self._is_answering() and not self.cycle.more_body:
            # What is being answered is a request before this one.
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        body = bytes(response.body)
        lines = [b"HTTP/1.1 %d \r\n" % response.status_code]
        lines += [b"%s: %s\r\n" % header for header in response.raw_headers]
        self.transport.write(b"".join([*lines, b"connection: close\r\n\r\n", body]))
        self._close()

    def _close(self) -> None:
        if self.transport.get_write_buffer_size():
            self._expect_reading()
        self.transport.close()

    def _is_answering(self) -> bool:
        # uvicorn's annotation leaves out that there is none before the first request.
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _expect_headers(self) -> None:
        self._headers_due = self.loop.call_later(self.bounds.header_seconds, self._check_headers)

    def _forget_headers(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _check_headers(self) -> None:
        self._headers_due = None
        if not self._is_answering():
            self.cut()

    def _expect_reading(self) -> None:
        if self._reading_due is None:
            self._unread = self.transport.get_write_buffer_size()
            self._reading_due = self.loop.call_later(self.bounds.write_seconds, self._check_reading)

    def _forget_reading(self) -> None:
        if self._reading_due is not None:
            self._reading_due.cancel()
            self._reading_due = None

    def _check_reading(self) -> None:
        """Cut a client that took too little since the last look."""
        self._reading_due = None
        unread = self.transport.get_write_buffer_size()
        if not unread:
            return
        if unread > self._unread - LEAST_PROGRESS_BYTES:
            log.info("a connection was cut: its client did not read")
            self.cut()
            return
        self._expect_reading()


class _Rest:
    """What a second parser tells: the rest of a request whose headers were read, then all others.

    Of the headers that stand in for those that were read nothing is told again.
    """

    def __init__(self, connection: BoundedConnection) -> None:
        self._connection = connection
        self._is_past = False

    def on_message_begin(self) -> None:
        if self._is_past:
            self._connection.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self._is_past:
            self._connection.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_past:
            self._connection.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_past:
            self._connection.on_headers_complete()
        self._is_past = True

    def on_body(self, body: bytes) -> None:
        self._connection.on_body(body)

    def on_message_complete(self) -> None:
        self._connection.on_message_complete()


def bounded_connections(bounds: Bounds) -> type[BoundedConnection]:
    """Return the class of a server's connections."""
    return type("Connection", (BoundedConnection,), {"bounds": bounds})
