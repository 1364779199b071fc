"""Two processes with different registries on one database: the later counts, nothing is lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.harness.collector import JSON, REGISTRY, Collector, batch, collector, compact, report

NEWER = REGISTRY.replace("[metrics.theme]\nrevision = 1", "[metrics.theme]\nrevision = 2")


def until(answered: Callable[[], Any], status: int) -> Any:
    """Ask until the answer has this status, for a second at most."""
    import time

    deadline = time.monotonic() + 5
    while (answer := answered()).status_code != status:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.05)
    return answer


def post(running: Collector) -> Any:
    """Send a report of the newer revision."""
    body = compact(batch(report(revision=2)))
    return running.client.post("/v1/reports", content=body, headers=JSON)


def test_overtaken_process_takes_no_reports(tmp_path: Path) -> None:
    """A process with an older registry answers 503, which devices retry, and never a rejection."""
    database = tmp_path / "rumor.sqlite3"
    with collector(database, refresh_seconds=0.1) as old:
        assert post(old).json()["results"][0]["reason"] == "revision_mismatch"
        with collector(database, NEWER) as new:
            answer = until(lambda: post(old), 503)
            assert int(answer.headers["retry-after"]) > 0
            assert old.client.get("/readyz").status_code == 503
            assert old.client.get("/healthz").status_code == 200
            assert old.client.get("/v1/metrics/theme/estimates").status_code == 200
            assert post(new).json()["results"][0]["verdict"] == "accepted"
            assert new.client.get("/readyz").status_code == 200


def test_older_registry_comes_back_by_starting_with_it(tmp_path: Path) -> None:
    """A roll-back is a start with the older registry, which then overtakes the newer one."""
    database = tmp_path / "rumor.sqlite3"
    with collector(database, NEWER, refresh_seconds=0.1) as new:
        with collector(database) as old:
            until(lambda: post(new), 503)
            assert old.client.get("/readyz").status_code == 200
        with collector(database, NEWER):
            until(lambda: post(new), 200)


def test_processes_with_one_registry_stand_beside_each_other(tmp_path: Path) -> None:
    """A second process with the same registry overtakes nobody."""
    database = tmp_path / "rumor.sqlite3"
    with collector(database, refresh_seconds=0.1) as one, collector(database) as other:
        for running in (one, other, one):
            assert running.client.get("/readyz").status_code == 200
