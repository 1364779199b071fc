"""The collector as a process: it boots, refuses bad bodies, drains, and survives being killed."""

import base64
import http.client
import json
import math
import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest
from tests.harness.collector_process import Serving

# Each report of the load has a value of its own among so many: a cell of 2 proves a double count.
VALUES = 4096
EPSILON = 8.0
REPORTS_A_BATCH = 4
REGISTRY = f"""
[metrics.colour]
revision = 1
mechanism = "krr"
epsilon = {EPSILON}
daily_epsilon = {EPSILON * REPORTS_A_BATCH}
values = {[f"v{number}" for number in range(VALUES)]}
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31
""".replace("'", '"')


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """A running collector with one metric of 4,096 values."""
    collector = Serving(tmp_path, REGISTRY)
    collector.start()
    yield collector
    collector.kill()


def batch(values: list[int]) -> dict[str, Any]:
    """A batch of one device that answers these values, unperturbed."""
    return {
        "sdk": "test/1",
        "day": datetime.now(UTC).date().isoformat(),
        "pseudonym": base64.b64encode(os.urandom(16)).decode(),
        "reports": [
            {
                "id": base64.b64encode(os.urandom(16)).decode(),
                "metric": "colour",
                "revision": 1,
                "cohort": 0,
                "payload": base64.b64encode(value.to_bytes(2, "little")).decode(),
            }
            for value in values
        ],
    }


def encode(document: dict[str, Any]) -> bytes:
    """The bytes of a batch."""
    return json.dumps(document).encode()


def counted(serving: Serving) -> list[int]:
    """How often the collector counted each value: its estimates, with the debiasing undone."""
    answer = serving.request("GET", "/v1/metrics/colour/estimates")
    assert answer.status == 200, answer.body
    p = math.exp(EPSILON) / (math.exp(EPSILON) + VALUES - 1)
    q = (1 - p) / (VALUES - 1)
    n = answer.json["n"]
    if not n:
        return [0] * VALUES
    rows = answer.json["rows"]
    assert [row["value"] for row in rows] == [f"v{number}" for number in range(VALUES)]
    counts = [n * (row["frequency"] * (p - q) + q) for row in rows]
    assert counts == pytest.approx([round(count) for count in counts], abs=1e-3)
    return [round(count) for count in counts]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/version"])
def test_boots_and_answers(serving: Serving, path: str) -> None:
    """`rumor serve` starts from a registry file alone and says that it is well."""
    assert serving.request("GET", path).status == 200


def test_counts_each_acknowledged_report(serving: Serving) -> None:
    """A batch is acknowledged report by report; sent again it is a duplicate and counts no more."""
    body = encode(batch([7, 7, 9]))
    for verdict in ("accepted", "duplicate"):
        answer = serving.request("POST", "/v1/reports", body)
        assert answer.status == 200
        assert [result["verdict"] for result in answer.json["results"]] == [verdict] * 3
        counts = counted(serving)
        assert (counts[7], counts[9], sum(counts)) == (2, 1, 3)


def bad_bodies() -> Iterator[tuple[str, bytes, str, int]]:
    """Bodies that are none of ours: what is wrong, the bytes, their type, the status."""
    secret = "kept-to-oneself"
    good = batch([1])
    yield "no JSON", secret.encode(), "application/json", 400
    yield "empty", b"", "application/json", 400
    yield "a list", json.dumps([secret]).encode(), "application/json", 400
    yield "unknown key", encode(good | {secret: secret}), "application/json", 400
    yield (
        "missing day",
        encode({k: v for k, v in good.items() if k != "day"}),
        "application/json",
        400,
    )
    yield "not a day", encode(good | {"day": secret}), "application/json", 400
    yield "short pseudonym", encode(good | {"pseudonym": "AAAA"}), "application/json", 400
    yield "repeated key", encode(good)[:-1] + b', "sdk": "x"}', "application/json", 400
    yield (
        "not a number",
        encode(good).replace(b'"cohort": 0', b'"cohort": NaN'),
        "application/json",
        400,
    )
    yield "no UTF-8", b'{"sdk": "\xff"}', "application/json", 400
    yield "deep", b"[" * 100_000, "application/json", 400
    yield "too large", b" " * ((1 << 20) + 1), "application/json", 413
    yield "another type", encode(good), "text/plain", 415


@pytest.mark.parametrize(
    ("body", "type_", "status"),
    [pytest.param(*rest, id=what) for what, *rest in bad_bodies()],
)
def test_bad_body_is_refused_and_not_repeated(
    lasting: Serving, body: bytes, type_: str, status: int
) -> None:
    """A bad body gets its status and a problem that repeats nothing of it; nothing is counted."""
    answer = lasting.request("POST", "/v1/reports", body, type_)
    assert answer.status == status, answer.body
    assert answer.type == "application/problem+json"
    assert answer.json["status"] == status
    assert b"kept-to-oneself" not in answer.body
    assert sum(counted(lasting)) == 0


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One collector for all tests that leave nothing behind in it."""
    collector = Serving(tmp_path_factory.mktemp("collector"), REGISTRY)
    collector.start()
    yield collector
    collector.kill()


class Load:
    """Devices that send 4,096 reports, each until it is acknowledged, with the same bytes."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._waiting: SimpleQueue[bytes] = SimpleQueue()
        for start in range(0, VALUES, REPORTS_A_BATCH):
            self._waiting.put(encode(batch([*range(start, start + REPORTS_A_BATCH)])))
        self._threads = [threading.Thread(target=self._send) for _ in range(4)]
        self.acknowledged = 0
        self.unanswered = 0
        self.faults: list[str] = []
        self._lock = threading.Lock()

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        for thread in self._threads:
            thread.join()

    def await_acknowledged(self, reports: int) -> None:
        """Wait until so many reports are acknowledged."""
        deadline = time.monotonic() + 60
        while self.acknowledged < reports:
            assert time.monotonic() < deadline, f"{self.acknowledged} after a minute: {self.faults}"
            time.sleep(0.001)

    def _send(self) -> None:
        while True:
            try:
                body = self._waiting.get_nowait()
            except Empty:
                return
            deadline = time.monotonic() + 60
            while not self._acknowledged(body):
                if time.monotonic() > deadline:
                    self.faults.append("a batch was not acknowledged within a minute")
                    return
                time.sleep(0.02)

    def _acknowledged(self, body: bytes) -> bool:
        try:
            answer = self._serving.request("POST", "/v1/reports", body)
        except (OSError, http.client.HTTPException):
            with self._lock:
                self.unanswered += 1
            return False
        if answer.status == 503:
            return False
        if answer.status != 200:
            self.faults.append(f"status {answer.status}: {answer.body[:200]!r}")
            return True
        verdicts = {result["verdict"] for result in answer.json["results"]}
        if not verdicts <= {"accepted", "duplicate"}:
            self.faults.append(f"verdicts {verdicts}")
        with self._lock:
            self.acknowledged += REPORTS_A_BATCH
        return True


@pytest.mark.slow
def test_kill_9_loses_and_doubles_nothing(serving: Serving) -> None:
    """Killed three times under load and restarted, it has each acknowledged report exactly once."""
    with Load(serving) as load:
        for share in (0.2, 0.5, 0.8):
            load.await_acknowledged(int(share * VALUES))
            serving.kill()
            serving.start()
    assert not load.faults
    assert load.unanswered, "the kills must have cut requests, or this test shows nothing"
    assert load.acknowledged == VALUES
    assert counted(serving) == [1] * VALUES


@pytest.mark.slow
def test_terminated_collector_drains(serving: Serving) -> None:
    """Told to end under load, it exits cleanly and has counted what it had acknowledged."""
    with Load(serving) as load:
        load.await_acknowledged(VALUES // 4)
        code = serving.stop()
        serving.start()
    assert code == 0
    assert not load.faults
    assert counted(serving) == [1] * VALUES
