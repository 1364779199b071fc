"""A collector under test: a small registry, batches by hand, and the application on a real file."""

import json
import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

from rumor_server.app import create_app
from rumor_server.settings import Settings
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_shared.registry import Registry, parse_registry

TODAY = date(2026, 11, 30)
REGISTRY = """
[registry]
max_age_days = 7
daily_epsilon = 20.0

[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
daily_epsilon = 10.0
values = ["light", "dark", "system"]
owner = "test@example.org"
purpose = "to test"
expires = 2026-12-31

[metrics.page]
revision = 3
mechanism = "rappor"
bits = 16
hashes = 2
cohorts = 4
f = 0.5
p = 0.25
q = 0.75
max_values = 1
daily_epsilon = 100.0
owner = "test@example.org"
purpose = "to test"
expires = 2026-12-31

[metrics.old]
revision = 1
mechanism = "binary"
epsilon = 1.0
owner = "test@example.org"
purpose = "to test"
expires = 2026-11-28
"""
# The same on the day that a process of its own has.
LASTING = REGISTRY.replace("2026-12-31", "2999-12-31")


def registry(text: str = REGISTRY) -> Registry:
    """The registry of the tests, or another one."""
    return parse_registry(text.encode())


def base64(data: bytes) -> str:
    """Standard base64 with padding."""
    return b64encode(data).decode()


def report(
    metric: str = "theme",
    payload: bytes = b"\x01",
    *,
    id_: bytes | None = None,
    revision: int = 1,
    cohort: int = 0,
) -> dict[str, Any]:
    """A report of the theme "dark" unless it is said otherwise, with a fresh id."""
    return {
        "id": base64(id_ or os.urandom(16)),
        "metric": metric,
        "revision": revision,
        "cohort": cohort,
        "payload": base64(payload),
    }


def batch(
    *reports: dict[str, Any], day: date | str = TODAY, pseudonym: bytes | None = None
) -> dict[str, Any]:
    """A batch of a fresh device, unless `pseudonym` is given."""
    return {
        "sdk": "test/1",
        "day": str(day),
        "pseudonym": base64(pseudonym or os.urandom(16)),
        "reports": list(reports),
    }


def compact(document: Any) -> bytes:
    """The bytes that our own client would write."""
    return json.dumps(document, separators=(",", ":")).encode()


class Collector:
    """The application on a file, in this process, with a clock that a test may move."""

    def __init__(self, client: TestClient, store: SqliteStore, database: Path) -> None:
        self.client = client
        self.store = store
        self.database = database
        self.today = TODAY

    def send(self, document: dict[str, Any]) -> list[dict[str, Any]]:
        """Send a batch that must be answered with 200; return the results."""
        answer = self.client.post("/v1/reports", content=compact(document), headers=JSON)
        assert answer.status_code == 200, answer.text
        results: list[dict[str, Any]] = answer.json()["results"]
        assert [result["id"] for result in results] == [one["id"] for one in document["reports"]]
        return results

    def verdicts(self, document: dict[str, Any]) -> list[str]:
        """Send a batch; return for each report its reason, or its verdict if there is none."""
        return [result["reason"] or result["verdict"] for result in self.send(document)]

    def tally(self, metric: str = "theme") -> tuple[list[int], Any]:
        """Return the reports by cohort and the counts of a metric's newest revision, all days."""
        newest = self.store.revisions(metric)[-1]
        tally = self.store.tally(newest, date.min, date.max)
        return tally.reports.tolist(), np.squeeze(tally.counts).tolist()

    def estimates(self, metric: str = "theme", **query: Any) -> dict[str, Any]:
        """Return the estimates of a metric, which must be answered with 200."""
        answer = self.client.get(f"/v1/metrics/{metric}/estimates", params=query)
        assert answer.status_code == 200, answer.text
        page: dict[str, Any] = answer.json()
        return page


JSON = {"Content-Type": "application/json"}


@contextmanager
def collector(database: Path, text: str = REGISTRY, **settings: Any) -> Iterator[Collector]:
    """Run the application on `database`; its background work and its drain run for real."""
    store = SqliteStore(database)
    running: Collector
    app = create_app(
        registry(text),
        store,
        Settings(database=database, **settings),
        today=lambda: running.today,
    )
    client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
    running = Collector(client, store, database)
    with client:
        yield running


def days_ago(days: int) -> date:
    """A day before the test's own."""
    return TODAY - timedelta(days=days)
