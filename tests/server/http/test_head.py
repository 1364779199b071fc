"""HEAD wherever GET is answered, and what Allow says."""

import pytest
from tests.harness.collector import Collector, batch, report

GOTTEN = [
    "/v1/metrics",
    "/v1/metrics/theme/estimates",
    "/v1/metrics/theme/estimates?format=csv",
    "/v1/registry",
    "/healthz",
    "/readyz",
    "/version",
    "/metrics",
    "/docs",
    "/openapi.json",
    "/",
    "/?format=json",
    "/metric/theme",
    "/metric/theme?format=csv",
    "/static/dashboard.css",
    "/static/icon.svg",
    "/v1/metrics/theme/trend?from=2026-11-29&to=2026-11-30",
    "/v1/metrics/theme/comparison?from=2026-11-30&to=2026-11-30",
    "/v1/metrics/theme/ranks",
    "/v1/metrics/theme/watch",
    "/v1/metrics/unknown/estimates",
    "/metric/unknown",
    "/static/unknown",
    "/unknown",
]


@pytest.mark.parametrize("path", GOTTEN)
def test_answers_head_as_get_without_the_body(running: Collector, path: str) -> None:
    """HEAD has the status and the headers of GET and no body, on every path, errors among them:
    readers of files and supervisors ask it first.
    """
    running.send(batch(report()))
    head, get = running.client.head(path), running.client.get(path)
    assert head.status_code == get.status_code == (404 if "unknown" in path else 200)
    assert head.content == b""
    assert get.content
    # What counts requests has one more to tell, in as many digits.
    assert dict(head.headers) == dict(get.headers)


def test_head_is_answered_wherever_get_is(running: Collector) -> None:
    """Each route of GET in the OpenAPI document is among those tried above."""
    paths = running.client.get("/openapi.json").json()["paths"]
    gotten = {path.replace("{metric}", "theme") for path in paths if "get" in paths[path]}
    assert gotten <= {path.partition("?")[0] for path in GOTTEN}


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/healthz", "GET, HEAD"),
        ("/v1/metrics", "GET, HEAD"),
        ("/v1/metrics/theme/estimates", "GET, HEAD, POST"),
        ("/metric/theme", "GET, HEAD"),
        ("/metric/theme/candidates", "POST"),
        ("/docs", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
        ("/v1/reports", "POST"),
        ("/v1/retractions", "POST"),
    ],
)
def test_allows_what_it_answers(running: Collector, path: str, methods: str) -> None:
    """Allow names every method that a path answers, and no other."""
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        answer = running.client.request(method, path)
        assert (answer.status_code != 405) is (method in methods.split(", ")), method
        if answer.status_code == 405:
            assert answer.headers["allow"] == methods
