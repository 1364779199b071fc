"""Reading a body: every byte counted, on the wire and inflated."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from starlette.types import Message, Receive

from rumor_server.errors import BadRequest
from rumor_server.http.body import Disconnected, media_type, read_body
from rumor_server.http.problem import Outcome, outcome_of, status_of

LIMIT = 1 << 20


def receiving(chunks: list[bytes], end: str = "http.request") -> Receive:
    """An ASGI `receive` that gives these chunks, then the end or a disconnect."""

    def messages() -> Iterator[Message]:
        for chunk in chunks:
            yield {"type": "http.request", "body": chunk, "more_body": True}
        yield {"type": end, "body": b"", "more_body": False}

    waiting = messages()

    async def receive() -> Message:
        return next(waiting)

    return receive


def read(chunks: list[bytes], **headers: str) -> bytes:
    """Read a body of chunks, with header names spelt with underscores."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return asyncio.run(read_body(receiving(chunks), given, 5))


def status(chunks: list[bytes], **headers: str) -> int:
    """The status with which a body is refused."""
    with pytest.raises(BadRequest) as caught:
        read(chunks, **headers)
    return status_of(caught.value)


def test_joins_chunks() -> None:
    """A body arrives in any number of pieces, plain or gzip."""
    assert read([b"a", b"", b"bc"]) == b"abc"
    packed = gzip.compress(b"abc" * 1000)
    pieces = [packed[i : i + 7] for i in range(0, len(packed), 7)]
    assert read(pieces, content_encoding="gzip") == b"abc" * 1000


def test_takes_exactly_the_limit() -> None:
    """One mebibyte passes, one byte more is 413, on the wire and inflated."""
    assert len(read([bytes(LIMIT)])) == LIMIT
    assert len(read([gzip.compress(bytes(LIMIT))], content_encoding="gzip")) == LIMIT
    assert status([bytes(LIMIT), b"x"]) == 413
    assert status([gzip.compress(bytes(LIMIT + 1))], content_encoding="gzip") == 413


def test_refuses_a_bomb_without_inflating_it() -> None:
    """SV-03: a gigabyte of zeros in gzip is 413 while less than 4 MiB are held."""
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 24)
    bomb = b"".join([packer.compress(zeros) for _ in range(64)]) + packer.flush()
    pieces = [bomb[i : i + 65_536] for i in range(0, len(bomb), 65_536)]
    tracemalloc.start()
    try:
        assert status(pieces, content_encoding="gzip") == 413
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_refuses_a_flood_without_a_length() -> None:
    """SV-03: chunks without Content-Length are counted; after 16 MiB nothing is read."""
    read_chunks = 0

    async def receive() -> Message:
        nonlocal read_chunks
        read_chunks += 1
        return {"type": "http.request", "body": bytes(LIMIT), "more_body": True}

    with pytest.raises(BadRequest) as caught:
        asyncio.run(read_body(receive, {}, 5))
    assert outcome_of(caught.value) == Outcome(413, closes=True)
    assert read_chunks < 20


@pytest.mark.parametrize("length", ["1048577", "9" * 30])
def test_believes_a_length_that_is_too_large(length: str) -> None:
    """A Content-Length over the limit is 413 whatever follows."""
    assert status([b"x"], content_length=length) == 413


@pytest.mark.parametrize(
    "body",
    [
        b"plain text",
        gzip.compress(b"abc")[:-1],
        gzip.compress(b"abc") + b"more",
        gzip.compress(b"abc") * 2,
        b"",
    ],
    ids=["not gzip", "cut", "trailing", "two members", "empty"],
)
def test_refuses_broken_gzip(body: bytes) -> None:
    """A gzip body is one whole member and nothing else."""
    assert status([body], content_encoding="gzip") == 400


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "zstd"])
def test_refuses_another_encoding(encoding: str) -> None:
    """Anything but gzip is 415."""
    assert status([b"x"], content_encoding=encoding) == 415


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "application/json; charset=latin-1", "application/jsonp"]
)
def test_refuses_another_type(kind: str) -> None:
    """Anything but JSON in UTF-8 and MessagePack is 415."""
    with pytest.raises(BadRequest) as caught:
        media_type({"content-type": kind})
    assert status_of(caught.value) == 415


@pytest.mark.parametrize("kind", ["application/json", 'Application/JSON; charset="UTF-8"'])
def test_takes_json_in_any_spelling(kind: str) -> None:
    """Case and a charset of UTF-8 make no difference."""
    assert media_type({"content-type": kind}) == "application/json"


def test_cuts_a_slow_body() -> None:
    """A body that does not arrive in time is 408, and its connection ends."""

    async def receive() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    with pytest.raises(BadRequest) as caught:
        asyncio.run(read_body(receive, {}, 0.01))
    assert outcome_of(caught.value) == Outcome(408, closes=True)


def test_cuts_a_body_whose_rest_is_slow() -> None:
    """A first part that is there at once starts the same clock."""
    parts: list[Message] = [{"type": "http.request", "body": b"half", "more_body": True}]

    async def receive() -> Message:
        if not parts:
            await asyncio.sleep(60)
        return parts.pop()

    with pytest.raises(BadRequest) as caught:
        asyncio.run(read_body(receive, {}, 0.01))
    assert status_of(caught.value) == 408


def test_answers_at_once_who_asks_before_sending_too_much() -> None:
    """`Expect: 100-continue` is not answered with a wait for a body that will be thrown away."""

    async def receive() -> Message:
        raise AssertionError("nothing of the body may be asked for")

    headers = {"content-length": "999999999", "expect": "100-continue"}
    with pytest.raises(BadRequest) as caught:
        asyncio.run(read_body(receive, headers, 60))
    assert status_of(caught.value) == 413


def test_waits_for_a_late_body() -> None:
    """A body that takes several rounds of the event loop, and several waits, arrives whole."""

    async def receive() -> Message:
        for _ in range(3):
            await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(None, int)
        return {"type": "http.request", "body": b"late", "more_body": False}

    assert asyncio.run(read_body(receive, {}, 60)) == b"late"


def test_ends_what_it_began_to_receive() -> None:
    """A request that is cancelled while its body is awaited leaves no half-run `receive`."""
    ended = []

    async def receive() -> Message:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)
        raise AssertionError

    async def scene() -> None:
        reading = asyncio.ensure_future(read_body(receive, {}, 60))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert ended == [True]

    asyncio.run(scene())


def test_notices_a_client_that_left() -> None:
    """A half body is no body."""
    with pytest.raises(Disconnected):
        asyncio.run(read_body(receiving([b"half"], end="http.disconnect"), {}, 5))
