"""The collector as processes on real sockets: the wire, and the lock between processes."""

import http.client
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.harness.collector import REGISTRY, base64, batch, compact, report
from tests.harness.collector_process import DAY, Serving

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31")
SENTINEL = "SECRET123"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Serving]]:
    """Two collectors on one database, at the most talkative log level."""
    folder = tmp_path_factory.mktemp("pair")
    os.environ["RUMOR_LOG_LEVEL"] = "debug"
    try:
        both = (Serving(folder, LASTING), Serving(folder, LASTING))
        for one in both:
            one.start()
        yield both
    finally:
        del os.environ["RUMOR_LOG_LEVEL"]
        for one in both:
            one.kill()


def sent(*reports: dict[str, Any], pseudonym: bytes | None = None) -> bytes:
    """The bytes of a batch of today."""
    return compact(batch(*reports, day=DAY, pseudonym=pseudonym))


def outcome(serving: Serving, body: bytes) -> list[str]:
    """Send a batch; return for each report its reason, or its verdict if there is none."""
    answer = serving.request("POST", "/v1/reports", body)
    assert answer.status == 200, answer.body
    return [one["reason"] or one["verdict"] for one in answer.json["results"]]


def n(serving: Serving) -> int:
    """How many reports of the theme are counted."""
    counted: int = serving.request("GET", "/v1/metrics/theme/estimates").json["n"]
    return counted


def test_processes_share_one_budget(pair: tuple[Serving, Serving]) -> None:
    """CO-01: 25 parallel requests to two processes against a cap of 10: exactly 10, every time."""
    before = n(pair[0])
    with ThreadPoolExecutor(25) as threads:
        for _ in range(5):
            pseudonym = os.urandom(16)
            bodies = [sent(report(), pseudonym=pseudonym) for _ in range(25)]
            verdicts = list(threads.map(outcome, [*pair] * 13, bodies))
            assert sorted(verdicts) == [["accepted"]] * 10 + [["budget_exceeded"]] * 15
    assert n(pair[1]) == before + 50


def test_processes_share_ids(pair: tuple[Serving, Serving]) -> None:
    """SV-06: 20 copies of one report to two processes are counted once, and none fails."""
    before = n(pair[0])
    body = sent(report())
    with ThreadPoolExecutor(20) as threads:
        verdicts = list(threads.map(outcome, [*pair] * 10, [body] * 20))
    assert sorted(verdicts) == [["accepted"]] + [["duplicate"]] * 19
    assert n(pair[1]) == before + 1


def test_no_writer_meets_a_lock(pair: tuple[Serving, Serving]) -> None:
    """DB-01: 8 clients with 100 requests each at two processes: no error, every report counted."""
    before = n(pair[0])

    def device(number: int) -> list[list[str]]:
        return [outcome(pair[number % 2], sent(report())) for _ in range(100)]

    with ThreadPoolExecutor(8) as threads:
        verdicts = [one for many in threads.map(device, range(8)) for one in many]
    assert verdicts == [["accepted"]] * 800
    assert n(pair[1]) == before + 800


def test_logs_no_value_and_no_address(pair: tuple[Serving, Serving]) -> None:
    """SV-02: at debug, no log has a submitted value, a payload, a pseudonym or an address."""
    serving = pair[0]
    pseudonym = b"\xa5" * 16
    bodies = [
        sent(report(SENTINEL), pseudonym=pseudonym),
        sent(report(payload=SENTINEL.encode()), pseudonym=pseudonym),
        sent(report() | {SENTINEL: SENTINEL}),
        SENTINEL.encode(),
    ]
    for body in bodies:
        answer = serving.request("POST", "/v1/reports", body)
        assert SENTINEL.encode() not in answer.body
    for path in (f"/{SENTINEL}", f"/v1/metrics/{SENTINEL}/estimates?to={SENTINEL}"):
        assert SENTINEL.encode() not in serving.request("GET", path).body
    log = serving.log.read_text("utf-8")
    assert "days are closed through" in log
    for secret in (SENTINEL, base64(SENTINEL.encode()), base64(pseudonym)):
        assert secret not in log
    assert "127.0.0.1" not in log.replace(f"http://127.0.0.1:{serving.port}", "").replace(
        f"http://127.0.0.1:{pair[1].port}", ""
    )


def test_survives_a_lone_surrogate(pair: tuple[Serving, Serving]) -> None:
    """EN-01: an escaped lone surrogate is refused, and the process answers what comes next."""
    good = sent(report())
    for place in (b"theme", b"test/1"):
        answer = pair[0].request("POST", "/v1/reports", good.replace(place, b"\\ud800"))
        assert answer.status == 400
    answer = pair[0].request("GET", "/v1/metrics/page/estimates?candidate=%ED%A0%80")
    assert answer.status in {200, 400}
    assert outcome(pair[0], good) == ["accepted"]


def test_answers_others_while_bodies_dawdle(pair: tuple[Serving, Serving]) -> None:
    """SV-03: with 200 half-sent bodies open, another client is answered within a second."""
    head = b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: 1000\r\n\r\n{"
    slow = [socket.create_connection(("127.0.0.1", pair[0].port)) for _ in range(200)]
    try:
        for one in slow:
            one.sendall(head)
        started = time.monotonic()
        assert outcome(pair[0], sent(report())) == ["accepted"]
        assert time.monotonic() - started < 1
    finally:
        for one in slow:
            one.close()


def test_refuses_a_chunked_flood(pair: tuple[Serving, Serving]) -> None:
    """SV-03: 3 MiB in chunks without a length is 413, and the connection ends."""
    connection = http.client.HTTPConnection("127.0.0.1", pair[0].port, timeout=30)
    try:
        flood = iter([bytes(1 << 16)] * 48)
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/reports", flood, headers, encode_chunked=True)
        answer = connection.getresponse()
        assert answer.status == 413
        assert answer.headers["connection"] == "close"
    finally:
        connection.close()


def test_keeps_a_budget_over_kill_and_restart(tmp_path: Path) -> None:
    """CO-02: killed and started again on the same file, it grants nothing that was spent."""
    serving = Serving(tmp_path, LASTING)
    serving.start()
    try:
        pseudonym = os.urandom(16)
        body = sent(*[report() for _ in range(10)], pseudonym=pseudonym)
        assert outcome(serving, body) == ["accepted"] * 10
        serving.kill()
        serving.start()
        assert outcome(serving, body) == ["duplicate"] * 10
        assert outcome(serving, sent(report(), pseudonym=pseudonym)) == ["budget_exceeded"]
        assert n(serving) == 10
        assert serving.stop() == 0
    finally:
        serving.kill()


def test_tells_what_its_stop_cuts_off_to_come_again(tmp_path: Path) -> None:
    """A body that never ends is answered 503 with advice when the drain is over, and no stack is
    logged.
    """
    serving = Serving(tmp_path, REGISTRY, settings={"drain_seconds": 1})
    serving.start()
    head = b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", serving.port), timeout=30) as open_:
        open_.sendall(head + b"Content-Length: 100\r\n\r\nhalf")
        # Answered by the same process, so that it has seen the half body by then.
        assert serving.request("GET", "/healthz").status == 200
        assert serving.stop() == 0
        answer = b"".join(iter(lambda: open_.recv(65536), b"")).lower()
    assert answer.startswith(b"http/1.1 503 ")
    assert b"retry-after: " in answer
    assert b"application/problem+json" in answer
    log = serving.log.read_text("utf-8")
    assert "Traceback" not in log
    assert "CancelledError" not in log
