"""Answers that are not the collector's: its own problem alone condemns a report or stops us."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.harness.devices import NOON, RAPPOR, device, registry_with
from tests.harness.http_server import serving, write

from rumor_client import Client, Request, Response, UploadStatus
from rumor_client.testing import FakeClock, FakeCollector, answer, contents, refusal

STRANGERS = [
    Response(status, {"content-type": kind}, body)
    for status in (400, 401, 403, 404, 405, 411, 413, 422, 451)
    for kind, body in (
        ("text/plain", b"Bad Request"),
        ("text/html; charset=utf-8", b"<html>no</html>"),
        ("application/json", b'{"title": "no"}'),
        ("", b""),
    )
] + [Response(407, {"content-type": "application/problem+json"}, b'{"title": "no"}')]


def filled(transport: Any, reports: int = 10, **given: Any) -> Client:
    """Return a client with reports that wait."""
    client = device(transport=transport, **given)
    for _ in range(reports):
        assert client.record("theme", "dark").recorded
    return client


@pytest.mark.parametrize(
    "response", STRANGERS, ids=lambda r: f"{r.status} {r.headers['content-type'] or 'no type'}"
)
def test_a_4xx_that_is_not_ours_is_a_fault_of_the_network(response: Response) -> None:
    """A proxy's, a portal's or a front server's 4xx drops nothing, stops nothing, and is tried
    again after the back-off of a fault (D-06, N-08).
    """
    seen: list[Request] = []

    def stranger(request: Request) -> Response:
        seen.append(request)
        return response

    client = filled(stranger, 400)
    for _ in range(3):
        result = client.flush()
        assert (result.status, result.dropped, result.waiting) == (UploadStatus.LATER, 0, 400)
        assert result.retry_in is not None
        assert f"{response.status} is not the collector's" in (result.detail or "")
    assert client.status().stopped is None
    assert client.status().dropped == {}
    # A stranger's 413 is halved, since less may pass: once, until one report is alone.
    assert len(seen) <= 3 * (10 if response.status == 413 else 1)


def test_verdicts_whose_ids_are_no_text_acknowledge_nothing() -> None:
    """An id that is a list, a number or an object is no answer of ours, and nothing is raised."""
    stranges: list[Any] = [[], {}, 7, None, True, ["a"]]
    for strange in stranges:
        results = [{"id": strange, "verdict": "accepted"}]
        told = answer(200, {"results": results, "server_day": "2026-11-30"})
        client = filled(lambda request, told=told: told)
        result = client.flush()
        assert (result.status, result.waiting) == (UploadStatus.LATER, 10)


@pytest.mark.parametrize(
    "strange",
    [
        {"verdict": ["accepted"], "reason": {}},
        {"verdict": "rejected", "reason": ["too_late"]},
        {"verdict": "rejected", "reason": "of_a_later_release"},
        {"verdict": "retry", "reason": "clock_in_doubt"},
        {},
    ],
)
def test_an_unknown_reason_is_taken_by_its_verdict(strange: dict[str, Any]) -> None:
    """What a later collector says is followed as far as it is known; an unknown verdict keeps."""

    def later(request: Request) -> Response:
        batch = contents(request)
        results = [{"id": each["id"], **strange} for each in batch["reports"]]
        return answer(200, {"results": results, "server_day": batch["day"]})

    client = filled(later)
    result = client.flush()
    kept = strange.get("verdict") != "rejected"
    assert (result.rejected, result.waiting) == ((0, 10) if kept else (10, 0))


def test_retry_after_counts_on_a_200_that_keeps_some() -> None:
    """A collector that says `retry` may say when: even `flush` keeps to it, and verdicts count."""

    def asking(request: Request) -> Response:
        batch = contents(request)
        results = [
            {"id": each["id"], "verdict": "retry" if place % 2 else "accepted", "reason": "pending"}
            for place, each in enumerate(batch["reports"])
        ]
        document = {"results": results, "server_day": batch["day"]}
        return answer(200, document, **{"retry-after": "120"})

    client = filled(asking)
    result = client.flush()
    assert (result.status, result.accepted, result.retry_in) == (UploadStatus.LATER, 5, 120)
    again = client.flush()
    assert (again.status, again.accepted, again.waiting) == (UploadStatus.LATER, 0, 5)
    # Where nothing is to come again, the header asks for nothing.
    all_taken = FakeCollector()

    def courteous(request: Request) -> Response:
        response = all_taken(request)
        return Response(200, {**response.headers, "retry-after": "120"}, response.body)

    assert filled(courteous).flush().status is UploadStatus.DONE


def test_a_collector_is_left_alone_by_the_next_run(tmp_path: Path) -> None:
    """`Retry-After: 3600` holds for another process on the same state, and not for ever (D-07)."""
    clock, path = FakeClock(), tmp_path / "state"
    first = filled(
        FakeCollector([refusal(503, **{"retry-after": "3600"})]), clock=clock, state=path
    )
    assert first.flush().retry_in == 3600
    first.close()
    collector = FakeCollector()
    for minutes in (1, 30, 28):
        clock.move(minutes=minutes)
        later = device(transport=collector, clock=clock, state=path, granted=False)
        result = later.flush()
        assert (result.status, result.accepted) == (UploadStatus.LATER, 0)
        later.close()
    assert collector.requests == []
    clock.move(minutes=2)
    later = device(transport=collector, clock=clock, state=path, granted=False)
    assert later.flush().accepted == 10
    later.close()


@pytest.mark.parametrize("shift", [400, -400])
def test_a_wait_that_a_wrong_clock_noted_is_forgotten(tmp_path: Path, shift: int) -> None:
    """No wait is longer than an hour, whatever the clock was when it was noted."""
    clock, path = FakeClock(NOON), tmp_path / "state"
    first = filled(FakeCollector([refusal(503, **{"retry-after": "60"})]), clock=clock, state=path)
    assert first.flush().retry_in == 60
    first.close()
    clock.move(hours=shift)
    later = device(transport=FakeCollector(), clock=clock, state=path, granted=False)
    assert later.flush().status is not UploadStatus.LATER
    later.close()


def test_a_collector_that_hangs_costs_one_run_its_two_seconds_and_not_each(tmp_path: Path) -> None:
    """The run after one that failed doesn't try again at its exit until the back-off is over."""
    clock, path = FakeClock(), tmp_path / "state"
    tried: list[int] = []

    def hang(request: Request) -> Response:
        tried.append(1)
        threading.Event().wait(request.timeout)
        raise TimeoutError

    for _ in range(4):
        client = device(
            transport=hang,
            clock=clock,
            state=path,
            background=True,
            upload_interval=3600,
            jitter=lambda: 0.9,
        )
        client.record("theme", "dark")
        client.close()
        clock.move(seconds=1)
    # Tried, left alone for 1.8 s, tried, left alone for 3.6 s.
    assert len(tried) == 2


def test_the_size_that_went_through_is_remembered() -> None:
    """Behind something that takes 100 kB and closes with the body unread, 300 reports of 2 kB are
    through after a few flushes, and no batch is tried at a size that failed (N-10).
    """
    limit, sizes, taken = 100_000, list[int](), FakeCollector()
    wide = registry_with(
        {"browser": {**RAPPOR, "bits": 16_384, "daily_epsilon": 100_000}}, daily_epsilon=100_000
    )

    def front(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(4096)
                head, _, body = head.partition(b"\r\n\r\n")
                fields = dict(
                    line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line
                )
                size = int(fields["Content-Length"])
                sizes.append(size)
                if size > limit:
                    connection.sendall(
                        b"HTTP/1.1 413 No\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"
                    )
                    continue
                while len(body) < size:
                    body += connection.recv(65536)
                response = taken(Request("POST", "/v1/reports", fields, body, 0))
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                    + str(len(response.body)).encode()
                    + b"\r\n\r\n"
                    + response.body
                )

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=front, args=(server,), daemon=True)
        thread.start()
        client = device(wide, endpoint=f"http://127.0.0.1:{server.getsockname()[1]}")
        for _ in range(300):
            assert client.record("browser", "x").recorded
        accepted = [client.flush().accepted for _ in range(2)]
        first = len(sizes)
        for _ in range(50):
            assert client.record("browser", "x").recorded
        assert client.flush().accepted == 50
        server.shutdown(socket.SHUT_RDWR)
    assert sum(accepted) == 300
    assert max(sizes[first:]) <= limit


def test_the_detail_of_a_failure_always_says_what_failed() -> None:
    """Neither an exception's bare name nor `str`: each fault of a network is told in words."""

    def respond(handler: BaseHTTPRequestHandler, request: Request) -> None:
        write(handler, Response(200, {"Content-Type": "text/plain"}, json.dumps({}).encode()))

    with serving(respond) as url:
        told = device(endpoint=url)
        told.record("theme", "dark")
        detail = told.flush().detail
    assert detail is not None
    assert "is not the collector's" in detail
    nobody = device(endpoint=url)
    nobody.record("theme", "dark")
    assert nobody.flush().detail == (
        "the collector gave no answer: nothing listens there (connection refused)"
    )
