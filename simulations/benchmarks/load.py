"""Post bodies to a server as fast as it answers, for less than 15 us of this side's time each.

A slow generator flatters the server: so sockets are polled by hand, requests are made beforehand,
and of an answer only its first line and its end are looked at.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_OK = b"HTTP/1.1 200 "
_BUFFER = 1 << 16


@dataclass(frozen=True)
class Load:
    """What a run of requests took: seconds in all, and of them this side's own CPU."""

    requests: int
    seconds: float
    own_cpu: float

    @property
    def microseconds(self) -> float:
        """Wall time a request."""
        return 1e6 * self.seconds / self.requests

    @property
    def own_microseconds(self) -> float:
        """CPU time of the generator a request."""
        return 1e6 * self.own_cpu / self.requests


def post(
    port: int, path: str, bodies: Sequence[bytes], connections: int, *, fresh: bool = False
) -> Load:
    """Post each body once, over so many connections at a time, kept or `fresh` for each request.

    Raises RuntimeError for any answer but 200.
    """
    close = "Connection: close\r\n" if fresh else ""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{close}"
    requests = iter(
        [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies]
    )
    run = _run_fresh if fresh else _run_kept
    start, own = time.perf_counter(), time.process_time()
    run(port, requests, min(connections, len(bodies)))
    return Load(len(bodies), time.perf_counter() - start, time.process_time() - own)


def _connected(port: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _run_kept(port: int, requests: Iterator[bytes], connections: int) -> None:
    poll = select.epoll()
    sockets = {}
    for _ in range(connections):
        one = _connected(port)
        sockets[one.fileno()] = one
        poll.register(one.fileno(), select.EPOLLIN)
        one.sendall(next(requests))
    begun: dict[int, bytes] = {}
    waiting = len(sockets)
    while waiting:
        for number, _ in poll.poll():
            answer = sockets[number].recv(_BUFFER)
            if number in begun:
                answer = begun.pop(number) + answer
            if not _is_whole(answer):
                begun[number] = answer
                continue
            request = next(requests, None)
            if request is None:
                waiting -= 1
            else:
                sockets[number].sendall(request)
    poll.close()
    for one in sockets.values():
        one.close()


def _is_whole(answer: bytes) -> bool:
    """Return whether an answer has come to its end. Raises RuntimeError for any but 200."""
    if not answer.startswith(_OK[: len(answer)]) or not answer:
        raise RuntimeError(f"the bench must measure what is counted: {answer[:200]!r}")
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return False
    length = head.lower().partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]
    return len(body) >= int(length)


def _run_fresh(port: int, requests: Iterator[bytes], connections: int) -> None:
    poll = select.epoll()
    sockets: dict[int, tuple[socket.socket, bytes]] = {}

    def begin() -> bool:
        request = next(requests, None)
        if request is None:
            return False
        one = _connected(port)
        one.sendall(request)
        sockets[one.fileno()] = one, b""
        poll.register(one.fileno(), select.EPOLLIN)
        return True

    for _ in range(connections):
        begin()
    while sockets:
        for number, _ in poll.poll():
            one, answer = sockets[number]
            more = one.recv(_BUFFER)
            if more:
                sockets[number] = one, answer + more
                continue
            if not _is_whole(answer):
                raise RuntimeError("an answer was cut off")
            poll.unregister(number)
            del sockets[number]
            one.close()
            begin()
    poll.close()
