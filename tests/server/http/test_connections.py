"""Connections as strangers use them: slow, many, ambiguous, wishing for another protocol."""

import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.harness.collector import REGISTRY, batch, compact, report
from tests.harness.collector_process import DAY, Serving

from rumor_server.http.connections import MAX_HEAD_BYTES

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31")
JSON = "Content-Type: application/json\r\n"
POST = f"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\n{JSON}"


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """A collector that lets clients be slow for a second or two."""
    settings = {"write_seconds": 1, "body_seconds": 3, "header_seconds": 2, "drain_seconds": 2}
    started = Serving(tmp_path, LASTING, settings={**settings, "open_requests": 50})
    started.start()
    yield started
    started.kill()


def connected(serving: Serving) -> socket.socket:
    """A connection to the collector, which waits ten seconds at most."""
    return socket.create_connection(("127.0.0.1", serving.port), timeout=10)


def answers(connection: socket.socket, number: int = 1) -> list[tuple[int, bytes]]:
    """So many answers on a connection: their status and body."""
    found = []
    with connection.makefile("rb") as file:
        for _ in range(number):
            status = int(file.readline().split(b" ")[1])
            length = 0
            while (line := file.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            found.append((status, file.read(length)))
    return found


def post(body: bytes, more: str = "") -> bytes:
    """A report's request, with more headers."""
    head = f"{POST}{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def sent() -> bytes:
    """A batch of one report of today."""
    return compact(batch(report(), day=DAY))


def verdict(answer: tuple[int, bytes]) -> str:
    """The verdict in an answer."""
    status, body = answer
    assert status == 200, body
    return str(json.loads(body)["results"][0]["verdict"])


UPGRADES = [
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
    "Connection: keep-alive, upgrade\r\nUpgrade: TLS/1.0\r\n",
]


@pytest.mark.parametrize("wish", UPGRADES)
def test_a_wish_to_upgrade_is_passed_over(serving: Serving, wish: str) -> None:
    """N-17: the report is counted, once, and the connection goes on as HTTP/1.1."""
    first, second = sent(), sent()
    with connected(serving) as one:
        one.sendall(post(first, wish) + post(second))
        assert [verdict(answer) for answer in answers(one, 2)] == ["accepted", "accepted"]
        one.sendall(post(first, wish))
        assert verdict(answers(one)[0]) == "duplicate"
    with connected(serving) as one:
        for byte in post(sent(), wish):
            one.sendall(bytes([byte]))
        assert verdict(answers(one)[0]) == "accepted"
    with connected(serving) as one:
        chunk = sent()
        head = f"{POST}{wish}Transfer-Encoding: chunked\r\n"
        one.sendall(f"{head}\r\n{len(chunk):x}\r\n".encode() + chunk + b"\r\n0\r\n\r\n")
        assert verdict(answers(one)[0]) == "accepted"
    with connected(serving) as one:
        one.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{wish}\r\n".encode())
        assert answers(one)[0][0] == 200
    assert "WebSocket" not in serving.log.read_text("utf-8")


AMBIGUOUS = [
    f"{POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    f"{POST}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n",
    "GET /healthz HTTP/1.1\nHost: x\n\n",
    f"{POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
    f"{POST}Content-Length: +2\r\n\r\n{{}}",
    f"{POST}Content-Length : 2\r\n\r\n{{}}",
    "GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded: y\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "\x16\x03\x01\x02",
]


@pytest.mark.parametrize("request_", AMBIGUOUS)
def test_what_could_mean_two_things_is_refused(serving: Serving, request_: str) -> None:
    """H3-16: 400 in our own form, and the connection is over, whatever else is installed."""
    with connected(serving) as one:
        one.sendall(request_.encode("latin-1"))
        status, body = answers(one)[0]
        assert status == 400
        assert json.loads(body)["title"] == "Bad Request"
        assert one.recv(1) == b""


def test_an_absolute_target_is_its_path(serving: Serving) -> None:
    """H3-16: the form that proxies are sent is answered as the plain one (RFC 9112, 3.2.2)."""
    with connected(serving) as one:
        one.sendall(b"GET http://example.org/healthz HTTP/1.1\r\nHost: example.org\r\n\r\n")
        assert answers(one)[0] == (200, b'{"status":"ok"}')


def test_headers_have_a_bound(serving: Serving) -> None:
    """K4: headers without an end are refused at their bound, not when memory ends."""
    with connected(serving) as one:
        one.sendall(b"GET /healthz HTTP/1.1\r\n")
        line = b"X: " + b"x" * 1000 + b"\r\n"
        try:
            for _ in range(MAX_HEAD_BYTES // 1000 + 2):
                one.sendall(line)
                time.sleep(0.002)
            assert answers(one)[0][0] == 431
        except ConnectionError:
            pass
    assert serving.request("GET", "/healthz").status == 200


def test_answers_small_things_at_once(serving: Serving) -> None:
    """C-09: a kept connection isn't made to wait for the other side's acknowledgement (40 ms)."""
    with connected(serving) as one:
        one.sendall(post(sent()))
        answers(one)
        started = time.monotonic()
        for _ in range(20):
            one.sendall(post(sent()))
            assert verdict(answers(one)[0]) == "accepted"
        assert time.monotonic() - started < 0.5


def test_keeps_an_idle_connection_longer_than_a_proxy(serving: Serving) -> None:
    """H3-15: after the usual five seconds of a server's patience it is still there."""
    with connected(serving) as one:
        one.sendall(post(sent()))
        answers(one)
        time.sleep(6)
        one.sendall(post(sent()))
        assert verdict(answers(one)[0]) == "accepted"


def never_reads(serving: Serving) -> socket.socket:
    """A client that asks for more than any buffer holds, and reads nothing of it."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    one.connect(("127.0.0.1", serving.port))
    one.settimeout(1)
    try:
        while True:
            one.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
    except TimeoutError:
        return one
    except ConnectionError:
        return one


@pytest.mark.slow
def test_a_client_that_never_reads_is_cut(serving: Serving) -> None:
    """C-06: sixty of them take no place for long, and a stop ends in its time."""
    with ExitStack() as stack:
        before = time.monotonic()
        for _ in range(6):
            stack.enter_context(closing(never_reads(serving)))
        assert serving.request("GET", "/healthz").status == 200
        assert verdict((200, serving.request("POST", "/v1/reports", sent()).body)) == "accepted"
        deadline = time.monotonic() + 40
        while established(serving) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert established(serving) == 0, time.monotonic() - before


@pytest.mark.slow
def test_a_stop_does_not_wait_for_who_never_reads(serving: Serving) -> None:
    """C-06: SIGTERM ends within its time, though a client reads nothing of what it asked for."""
    with closing(never_reads(serving)):
        started = time.monotonic()
        assert serving.stop() == 0
        assert time.monotonic() - started < 6


def established(serving: Serving) -> int:
    """How many descriptors of the collector's process are connections of clients."""
    assert serving.process is not None
    port = f"{serving.port:04X}"
    with Path(f"/proc/{serving.process.pid}/net/tcp").open() as file:
        rows = [line.split() for line in file][1:]
    return sum(row[1].endswith(f":{port}") and row[3] == "01" for row in rows)


@pytest.mark.slow
def test_slow_bodies_take_no_place(serving: Serving) -> None:
    """C-06: with more slow bodies than places, health and reports are answered."""
    with ExitStack() as stack:
        for _ in range(200):
            one = stack.enter_context(connected(serving))
            one.sendall(post(sent())[:-1])
        for _ in range(3):
            assert serving.request("GET", "/healthz").status == 200
            assert serving.request("GET", "/readyz").status == 200
            answer = serving.request("POST", "/v1/reports", sent())
            assert verdict((answer.status, answer.body)) == "accepted"


@pytest.mark.slow
def test_descriptors_do_not_run_out(tmp_path: Path) -> None:
    """N-21: with 48 descriptors and 120 idle sockets it answers health, and logs little."""
    starter = tmp_path / "few.py"
    starter.write_text(
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))\n"
        "from rumor_shared.console import main\n"
        "sys.exit(main())\n"
    )
    serving = Serving(tmp_path, LASTING, program=(sys.executable, str(starter)))
    serving.start()
    try:
        with ExitStack() as stack:
            for _ in range(120):
                stack.enter_context(connected(serving))
            for _ in range(5):
                assert serving.request("GET", "/healthz").status == 200
                assert serving.request("POST", "/v1/reports", sent()).status == 200
                time.sleep(0.5)
        assert len(serving.log.read_text("utf-8").splitlines()) < 40
        assert serving.stop() == 0
    finally:
        serving.kill()
