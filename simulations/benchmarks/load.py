"""Post bodies to a server over many connections, as fast as it answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence


def requests_per_second(port: int, path: str, bodies: Sequence[bytes], connections: int) -> float:
    """Post each body once, over so many connections at a time; return the rate.

    Raises RuntimeError for any answer but 200.
    """
    return asyncio.run(_post_all(port, path, iter(bodies), len(bodies), connections))


async def _post_all(
    port: int, path: str, bodies: Iterator[bytes], count: int, connections: int
) -> float:
    open_ = [await asyncio.open_connection("127.0.0.1", port) for _ in range(connections)]
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    start = time.perf_counter()
    await asyncio.gather(*(_post(head, bodies, *one) for one in open_))
    taken = time.perf_counter() - start
    for _, writer in open_:
        writer.close()
        await writer.wait_closed()
    return count / taken


async def _post(
    head: bytes, bodies: Iterator[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    for body in bodies:
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"the bench must measure what is counted: {answer[:40]!r}")
        length = answer.lower().split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0]
        await reader.readexactly(int(length))
