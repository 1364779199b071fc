"""Every error of every route has one shape, and repeats nothing of the request."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.harness.collector import JSON, Collector, collector

from rumor_server.app import Collector as App
from rumor_server.errors import (
    DiskAlmostFull,
    Overloaded,
    StoreError,
    StoreUnavailable,
    TooLarge,
)
from rumor_server.http.problem import problem_of

SECRET = "SECRET123"
ESTIMATES = "/v1/metrics/theme/estimates"
ESTIMATES_PATH = "/v1/metrics/{metric}/estimates"


CLOSED = dict.fromkeys(("ingest_access", "read_access", "metrics_access"), "key")


def check(answer: Any, status: int) -> None:
    """Assert that an answer is a problem of this status and holds no secret."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert SECRET not in answer.text
    document = answer.json()
    assert sorted(document) == ["detail", "status", "title", "type"]
    assert document["status"] == status
    assert document["detail"]


REQUESTS: list[tuple[str, str, dict[str, Any], int]] = [
    ("GET", f"/{SECRET}", {}, 404),
    ("GET", f"/v1/metrics/{SECRET}/estimates", {}, 404),
    ("GET", f"{ESTIMATES}?from={SECRET}", {}, 400),
    ("GET", f"{ESTIMATES}?to=2026-02-30", {}, 400),
    ("GET", f"{ESTIMATES}?from=2026-11-30&to=2026-11-29", {}, 400),
    ("GET", f"{ESTIMATES}?{SECRET}=1", {}, 400),
    ("GET", f"{ESTIMATES}?alpha=NaN", {}, 400),
    ("GET", f"{ESTIMATES}?alpha=1e400", {}, 400),
    ("GET", f"{ESTIMATES}?alpha=0", {}, 400),
    ("GET", f"{ESTIMATES}?revision=1.0&revision={SECRET}", {}, 400),
    ("GET", f"{ESTIMATES}?format={SECRET}", {}, 400),
    ("GET", f"{ESTIMATES}?limit={SECRET}", {}, 400),
    ("GET", f"{ESTIMATES}?offset=-1", {}, 400),
    ("GET", f"/metric/{SECRET}?format=json", {}, 404),
    ("GET", f"/metric/theme?format=json&from={SECRET}", {}, 400),
    ("POST", ESTIMATES, {"content": SECRET, "headers": JSON}, 400),
    ("POST", ESTIMATES, {"content": b"[" * 100_000, "headers": JSON}, 400),
    ("POST", ESTIMATES, {"content": b'{"candidates":[NaN]}', "headers": JSON}, 400),
    ("POST", ESTIMATES, {"content": b"\xff", "headers": JSON}, 400),
    ("POST", ESTIMATES, {"json": {"candidates": [1, SECRET]}}, 400),
    ("POST", ESTIMATES, {"json": {"candidates": [], SECRET: SECRET}}, 400),
    ("POST", "/v1/reports", {"content": SECRET, "headers": JSON}, 400),
    ("POST", "/v1/reports", {"content": SECRET, "headers": {"Content-Type": SECRET}}, 415),
    ("POST", "/v1/reports", {"content": bytes(1 << 21), "headers": JSON}, 413),
]


# What a lenient reader takes for a number or a day, and what it would choose one of.
LENIENT = [
    ("revision=1.0", "revision"),
    ("revision=%2B1", "revision"),
    ("revision=1_0", "revision"),
    ("revision=%201", "revision"),
    ("revision=%D9%A1", "revision"),
    ("revision=1&revision=1", "revision"),
    ("limit=1.0", "limit"),
    ("limit=1&limit=2", "limit"),
    ("offset=0.0", "offset"),
    ("alpha=.05&alpha=.1", "alpha"),
    ("alpha=0.0_5", "alpha"),
    ("alpha=%D9%A0.1", "alpha"),
    ("alpha=%200.05", "alpha"),
    ("fakes=1_0e-2", "fakes"),
    ("robust=Infinity", "robust"),
    ("robust=.1&fakes=.1&robust=.2", "robust"),
    ("from=1700006400", "from"),
    ("from=20261130", "from"),
    ("from=2026-11-30T00:00:00", "from"),
    ("to=2026-W48-1", "to"),
    ("to=2026-11-30&to=2026-11-30", "to"),
    ("format=csv&format=json", "format"),
]


@pytest.mark.parametrize(("query", "named"), LENIENT)
def test_reads_parameters_in_one_spelling_and_once(
    running: Collector, query: str, named: str
) -> None:
    """What isn't written as the document says, or is given twice, is refused by its name."""
    url = f"{ESTIMATES}?{query}"
    for answer in (running.client.get(url), running.client.post(url, json={"candidates": ["a"]})):
        check(answer, 400)
        assert answer.json()["detail"].startswith(f"query.{named}: ")


def test_takes_what_the_document_allows_twice(running: Collector) -> None:
    """Candidates are the one parameter that may be repeated."""
    url = "/v1/metrics/page/estimates?candidate=a&candidate=b&alpha=5e-2&revision=3"
    assert [row["value"] for row in running.client.get(url).json()["rows"]] == ["a", "b"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"candidates":["a"],"candidates":["a"]}',
        b'{"candidates": ["a"], "\\u0063andidates": ["b"]}',
        b'{"candidates":[],"candidates":[]}',
    ],
)
def test_refuses_a_repeated_key_of_a_body(running: Collector, body: bytes) -> None:
    """A body that gives candidates twice is refused, however the name is spelt."""
    answer = running.client.post("/v1/metrics/page/estimates", content=body, headers=JSON)
    check(answer, 400)
    assert answer.json()["detail"].startswith("body.candidates: is given twice")


@pytest.mark.parametrize(("method", "path", "more", "status"), REQUESTS)
def test_refuses_in_one_shape(
    running: Collector, method: str, path: str, more: dict[str, Any], status: int
) -> None:
    """Whatever is wrong, the answer is `application/problem+json` with its status in it."""
    check(running.client.request(method, path, **more), status)


def test_refuses_another_method_on_every_route(running: Collector) -> None:
    """Each route of the OpenAPI document answers DELETE with 405 and says what it allows."""
    app = running.client.app
    assert isinstance(app, App)
    for path in app.openapi()["paths"]:
        answer = running.client.delete(path.replace("{metric}", "theme"))
        check(answer, 405)
        assert answer.headers["allow"]


def test_asks_for_a_key_in_one_shape_on_every_route(tmp_path: Path) -> None:
    """Where keys are asked for, every route but those without secrets answers 401 in this shape."""
    with collector(tmp_path / "rumor.sqlite3", **CLOSED) as closed:
        app = closed.client.app
        assert isinstance(app, App)
        asked = set()
        for path, operations in app.openapi()["paths"].items():
            for method, operation in operations.items():
                address = path.replace("{metric}", "theme")
                answer = closed.client.request(method, address)
                if "401" in operation["responses"] and operation["security"] != [{}]:
                    check(answer, 401)
                    assert answer.headers["www-authenticate"].startswith("Bearer")
                    asked.add(path)
        assert {"/v1/reports", "/v1/retractions", "/v1/metrics", ESTIMATES_PATH} <= asked


def test_fails_in_one_shape_on_every_route(
    running: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where everything behind a route fails, each answers, if at all, with 500 or 503 like this."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    for name in ("revisions", "days", "tally", "check"):
        monkeypatch.setattr(type(running.store), name, fail)
    for place in ("reports.screen_batch", "retractions.screen_retractions"):
        monkeypatch.setattr(f"rumor_server.http.routes.{place}", fail)
    app = running.client.app
    assert isinstance(app, App)
    failed = set()
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            sent = {"json": body["example"]} if body else {}
            answer = running.client.request(method, path.replace("{metric}", "theme"), **sent)
            if answer.status_code != 200:
                check(answer, answer.status_code)
                assert answer.status_code in {500, 503}
                failed.add((method, path))
    for route in (("get", "/v1/metrics"), ("get", ESTIMATES_PATH), ("post", ESTIMATES_PATH)):
        assert route in failed
    assert ("post", "/v1/reports") in failed


def test_hides_a_fault_of_its_own(
    running: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault of ours is 500 in the same shape, without its traceback and without its words."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("rumor_server.queries.service.estimate_metric", fail)
    monkeypatch.setattr("rumor_server.http.routes.reports.screen_batch", fail)
    check(running.client.get(ESTIMATES), 500)
    body = {"sdk": "x", "day": "2026-11-30", "pseudonym": "A" * 22 + "==", "reports": []}
    check(running.client.post("/v1/reports", content=json.dumps(body), headers=JSON), 500)
    ours = [record for record in caplog.records if record.name.startswith("rumor_server")]
    assert [record.getMessage() for record in ours] == ["a batch failed"]
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("error", "status", "wait"),
    [
        (TooLarge("x"), 413, None),
        (Overloaded(2), 503, "2"),
        (StoreUnavailable("x"), 503, "5"),
        (StoreError("x"), 503, "5"),
        (DiskAlmostFull(1, 2), 507, "600"),
        (RuntimeError("x"), 500, None),
    ],
)
def test_tells_a_client_when_to_come_back(error: Exception, status: int, wait: str | None) -> None:
    """What passes by itself carries Retry-After."""
    answer = problem_of(error)
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, wait)
