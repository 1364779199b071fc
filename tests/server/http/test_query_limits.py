"""Waiting questions are bounded in number and in bytes; the next one hears when to come again."""

from pathlib import Path

import pytest
from starlette.requests import Request
from tests.harness.collector import REGISTRY, batch, collector, report

from rumor_server.errors import TooManyQueries
from rumor_server.http.candidates import MAX_BODY_BYTES
from rumor_server.http.query_limits import QueryLimits


def request(method: str = "GET", **headers: str) -> Request:
    """A request as a server hands it over."""
    listed = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return Request({"type": "http", "method": method, "headers": listed})


def test_counts_questions() -> None:
    """One more than may be answered at a time is refused; one that was answered makes room."""
    limits = QueryLimits(queries=2)
    with limits.admitted(request()), limits.admitted(request()):
        refused = limits.admitted(request())
        with pytest.raises(TooManyQueries):
            refused.__enter__()
    with limits.admitted(request()):
        pass


@pytest.mark.parametrize(
    "headers",
    [
        {"content_length": str(MAX_BODY_BYTES)},
        {"content_length": "99999999999999999999"},
        {"transfer_encoding": "chunked"},
        {"content_length": "10", "content_encoding": "gzip"},
        {"content_length": "\u0663"},
    ],
)
def test_counts_bytes(headers: dict[str, str]) -> None:
    """A body counts as much as it may become; what says its length counts as much as it says."""
    limits = QueryLimits(held=MAX_BODY_BYTES + 10)
    small = request("POST", content_length="10")
    with limits.admitted(small), limits.admitted(request("POST", **headers)):
        with pytest.raises(TooManyQueries), limits.admitted(small):
            pass
        with limits.admitted(request()):
            pass


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/metrics"),
        ("GET", "/v1/metrics/theme/estimates"),
        ("POST", "/v1/metrics/page/estimates"),
        ("GET", "/"),
        ("GET", "/metric/theme"),
        ("POST", "/metric/page/candidates"),
    ],
)
def test_refuses_with_a_time_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    """C-10: 503 with Retry-After on each route of analysts; reports and readiness are not asked."""
    monkeypatch.setattr("rumor_server.app.QueryLimits", lambda: QueryLimits(queries=0))
    with collector(tmp_path / "db", REGISTRY) as running:
        answer = running.client.request(method, path, json={"candidates": ["a"]})
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert running.verdicts(batch(report())) == ["accepted"]
        assert running.client.get("/readyz").status_code == 200
