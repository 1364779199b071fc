"""Read a request's body, counting every chunk on the wire and every chunk inflated.

`Content-Length` is believed only where it says too much. Inflation asks zlib for no more than is
still allowed, so neither a bomb nor a chunked flood is ever held: at most the limit, and one
chunk.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import Message, Receive

from rumor_server.errors import (
    BadRequest,
    BodyTooLarge,
    BodyTooSlow,
    BrokenGzip,
    Overloaded,
    UnsupportedMedia,
)
from rumor_shared.wire import JSON, MAX_BATCH_BYTES, MSGPACK

# A body that is too large is read on and thrown away up to here, so that a client which sends
# before it listens hears 413 (and splits) instead of a broken pipe (and retries for ever).
_DISCARD_BYTES = 16 * MAX_BATCH_BYTES
# zlib's window bits for "gzip header expected".
_GZIP = 16 + zlib.MAX_WBITS
_TYPES = frozenset({JSON, MSGPACK})
# What all bodies of a process that are not there yet may hold together: 256 of a batch's largest.
MAX_UNFINISHED_BYTES = 256 * MAX_BATCH_BYTES
_RETRY_SECONDS = 2


class Disconnected(Exception):
    """The client went away before its body was complete; nobody is left to answer."""


def media_type(headers: Mapping[str, str]) -> str:
    """Return the body's media type. Raises UnsupportedMedia if it is none of ours."""
    given = headers.get("content-type", "")
    if given in _TYPES:
        return given
    name, _, parameters = given.partition(";")
    name = name.strip().lower()
    charset = parameters.replace(" ", "").replace('"', "").lower()
    if name not in _TYPES or charset not in {"", "charset=utf-8"}:
        raise UnsupportedMedia(f"send Content-Type: {JSON} or {MSGPACK}")
    return name


def is_gzip(headers: Mapping[str, str]) -> bool:
    """Return whether the body is gzip. Raises UnsupportedMedia for any other encoding."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip"}:
        raise UnsupportedMedia("send the body as it is, or with Content-Encoding: gzip")
    return encoding == "gzip"


async def read_body(
    receive: Receive, headers: Mapping[str, str], seconds: float, limit: int = MAX_BATCH_BYTES
) -> bytes:
    """Return the body, inflated, of at most `limit` bytes.

    Raises BrokenGzip, BadRequest for gzip that ends too early, BodyTooSlow where the whole took
    longer than `seconds`, BodyTooLarge where it passes the limit on the wire or inflated,
    UnsupportedMedia for an unknown encoding, Overloaded where too many others are unfinished, and
    Disconnected.
    """
    inflater = zlib.decompressobj(_GZIP) if is_gzip(headers) else None
    length = headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 18 or int(length) > limit):
        if headers.get("expect", "").lower() == "100-continue":
            # It asks before it sends anything, so there is nothing to throw away.
            raise _too_large(limit)
        async with _within(seconds):
            await _discard(receive, 0)
        raise _too_large(limit)
    begun = _Begun(receive)
    first = begun.message
    if first is not None and not first.get("more_body", False):
        return await _read(first, receive, inflater, limit)
    async with _within(seconds):
        return await _read(await begun if first is None else first, receive, inflater, limit)


@asynccontextmanager
async def _within(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise BodyTooSlow(f"the body did not arrive within {seconds:g} s; send it again") from None


class _Begun:
    """The first message of a body: `message` where it was there already, else to be awaited.

    A report and its headers come in one packet, so nearly always nothing is waited for; to start
    and stop a clock all the same would be a twelfth of the work of a request.
    """

    def __init__(self, receive: Receive) -> None:
        self.message: Message | None = None
        self._steps = receive().__await__()
        try:
            self._awaited = next(self._steps)
        except StopIteration as arrived:
            self.message = arrived.value

    def __await__(self) -> Generator[Any, Any, Message]:
        try:
            yield self._awaited
        except BaseException:
            self._steps.close()
            raise
        return (yield from self._steps)


async def _read(
    message: Message, receive: Receive, inflater: zlib._Decompress | None, limit: int
) -> bytes:
    body = bytearray()
    wire = held = 0
    try:
        while True:
            chunk, more = _chunk(message)
            wire += len(chunk)
            if inflater is not None:
                chunk = _inflate(inflater, chunk, limit - len(body))
            if wire > limit or len(body) + len(chunk) > limit:
                if more:
                    await _discard(receive, wire)
                raise _too_large(limit)
            body += chunk
            if not more:
                break
            _unfinished.hold(len(chunk))
            held += len(chunk)
            message = await receive()
    finally:
        _unfinished.release(held)
    if inflater is not None and not inflater.eof:
        raise BadRequest("the gzip body ends too early; send it whole")
    return bytes(body)


class Unfinished:
    """How many bytes all bodies hold that have begun and are not there yet: `most` at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0

    def hold(self, size: int) -> None:
        """Count bytes. Raises Overloaded where there would be too many."""
        if self._held + size > self._most:
            raise Overloaded(_RETRY_SECONDS)
        self._held += size

    def release(self, size: int) -> None:
        """Count bytes no longer."""
        self._held -= size


_unfinished = Unfinished(MAX_UNFINISHED_BYTES)


def _chunk(message: Message) -> tuple[bytes, bool]:
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message.get("body", b""), message.get("more_body", False)


def _inflate(inflater: zlib._Decompress, chunk: bytes, room: int) -> bytes:
    """Return what `chunk` inflates to, at most one byte more than `room`."""
    try:
        inflated = inflater.decompress(chunk, room + 1)
    except zlib.error:
        raise BrokenGzip("the body is not valid gzip; compress it again") from None
    if inflater.unused_data:
        raise BrokenGzip("bytes follow the end of the gzip body; send one member")
    return inflated


async def _discard(receive: Receive, read: int) -> None:
    more = True
    while more and read <= _DISCARD_BYTES:
        chunk, more = _chunk(await receive())
        read += len(chunk)


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"a body has at most {limit} bytes, also once inflated; send less at a time"
    )
