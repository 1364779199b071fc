"""`/metrics`: declared names alone, and numbers that are right with several processes."""

import re
import threading
import time
from collections import Counter as Count
from pathlib import Path

import pytest
from tests.harness.collector import TODAY, Collector, batch, collector, days_ago, report

from rumor_server.errors import StoreUnavailable
from rumor_server.http.counters import LATENCY_BOUNDS, Counters
from rumor_server.http.prometheus import FAMILIES

LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)+)\})? (-?[0-9.e+-]+)')


def scrape(running: Collector) -> dict[str, float]:
    """Every sample of the page, by its name and labels as they are written."""
    answer = running.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            assert LINE.fullmatch(line), line
            name, _, value = line.rpartition(" ")
            assert name not in samples
            samples[name] = float(value)
    return samples


def test_sends_declared_names_alone(running: Collector) -> None:
    """Every sample has a declared family, and every family its help and type."""
    running.send(batch(report(), report("nothing")))
    page = running.client.get("/metrics").text
    declared = re.findall(r"^# TYPE (\S+) (gauge|counter|histogram)$", page, re.MULTILINE)
    assert dict(declared) == {name: family.kind for name, family in FAMILIES.items()}
    for name in scrape(running):
        bare = name.partition("{")[0]
        assert bare in FAMILIES or re.sub("_(bucket|sum|count)$", "", bare) in FAMILIES


def test_documents_every_name() -> None:
    """Each name of `/metrics` stands in the page of deployment."""
    page = (Path(__file__).parents[3] / "docs" / "deployment.md").read_text("utf-8")
    assert [name for name in FAMILIES if f"`{name}`" not in page] == []


def test_counts_verdicts_by_reason(running: Collector) -> None:
    """Each report is counted once under its verdict and reason, and once under its day's offset."""
    twice = batch(report(), report("nothing"), report(revision=7))
    for _ in range(2):
        running.send(twice)
    running.send(batch(report(), day=days_ago(-1)))
    running.send(batch(report(), day=days_ago(3)))
    samples = scrape(running)
    found = {
        tuple(re.findall('(?:verdict|reason)="([^"]*)"', name)[::-1]): value
        for name, value in samples.items()
        if name.startswith("rumor_verdicts_total")
    }
    assert found == {
        ("accepted", ""): 2,
        ("duplicate", ""): 1,
        ("rejected", "unknown_metric"): 2,
        ("rejected", "revision_mismatch"): 2,
        ("retry", "too_early"): 1,
    }
    assert samples['rumor_day_offset_reports_total{days="1"}'] == 1
    assert samples['rumor_day_offset_reports_total{days="-3"}'] == 1
    assert samples["rumor_commit_seconds_count"] == 4
    assert samples['rumor_commit_seconds_bucket{le="+Inf"}'] == 4
    assert samples["rumor_queue_reports"] == samples["rumor_queue_age_seconds"] == 0


def test_never_labels_with_what_a_client_sent(running: Collector) -> None:
    """SV-06: a metric that nobody declared makes no series."""
    running.send(batch(*[report(f"made_up_{number}") for number in range(50)]))
    assert "made_up" not in running.client.get("/metrics").text


def test_is_right_with_several_processes(tmp_path: Path) -> None:
    """What is of the database is the same on each process and exact, over a restart too."""
    database = tmp_path / "rumor.sqlite3"
    name = 'rumor_database_counted_reports{metric="theme",revision="1"}'
    with collector(database) as one, collector(database) as other:
        one.send(batch(report(), report()))
        other.send(batch(report()))
        assert scrape(one)[name] == scrape(other)[name] == 3
    with collector(database) as again:
        samples = scrape(again)
        assert samples[name] == 3
        assert not [one for one in samples if one.startswith("rumor_verdicts_total")]


def test_watches_retention(tmp_path: Path) -> None:
    """While days are not closed, the days past retention grow; closing brings them to 0."""
    with collector(tmp_path / "rumor.sqlite3", close_seconds=86_400) as running:
        running.send(batch(report()))
        assert scrape(running)["rumor_database_past_retention_days"] == 0
        running.today = days_ago(-10)
        assert scrape(running)["rumor_database_past_retention_days"] == 3
        running.store.close_days(TODAY)
        samples = scrape(running)
        assert samples["rumor_database_past_retention_days"] == 0
        assert samples["rumor_database_closed_days_ago"] == 10


def test_counts_refusals_at_the_door(tmp_path: Path) -> None:
    """Requests that get no further than the door are counted by status."""
    with collector(tmp_path / "rumor.sqlite3", read_access="key") as running:
        for _ in range(3):
            assert running.client.get("/v1/metrics").status_code == 401
        assert scrape(running)['rumor_refused_requests_total{status="401"}'] == 3


def test_measures_what_waits() -> None:
    """The queue's age is that of the batch that waits longest; a commit falls into its bucket."""
    now = 100.0
    counters = Counters(seconds=lambda: now)
    with counters.waiting(5):
        now = 103.0
        with counters.waiting(2):
            now = 104.0
            assert (counters.waiting_reports, counters.waiting_seconds) == (7, 4.0)
        assert (counters.waiting_reports, counters.waiting_seconds) == (5, 4.0)
    assert (counters.waiting_reports, counters.waiting_seconds) == (0, 0.0)
    assert counters.latency_sum == 5.0
    taken = Count(dict(zip((*LATENCY_BOUNDS, None), counters.latencies, strict=True)))
    assert (taken[1.0], taken[5.0]) == (1, 1)


def test_forgets_a_batch_that_fails() -> None:
    """A batch whose commit fails waits no longer."""
    counters = Counters()
    with pytest.raises(ValueError, match="x"), counters.waiting(1):
        raise ValueError("x")
    assert counters.waiting_reports == 0


def test_answers_when_the_database_does_not(
    running: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """C-08: a page without the database's figures is sent all the same, and logged."""
    assert "rumor_database_past_retention_days" in scrape(running)

    def unreadable(_: object) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr("rumor_server.http.prometheus.read_figures", unreadable)
    samples = scrape(running)
    assert "rumor_ready" in samples
    assert not [name for name in samples if name.startswith("rumor_database_")]
    assert "can't be read" in caplog.text


def test_answers_while_the_database_is_silent(
    running: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H3-21: a database that says nothing keeps no scrape waiting; its figures are missing."""
    monkeypatch.setattr("rumor_server.operations.readiness.ANSWER_SECONDS", 0.2)
    silent = threading.Event()

    def hang(_: object) -> None:
        silent.wait(30)
        raise StoreUnavailable("gone")

    monkeypatch.setattr("rumor_server.http.prometheus.read_figures", hang)
    try:
        started = time.monotonic()
        for _ in range(3):
            samples = scrape(running)
            assert "rumor_ready" in samples
            assert not [name for name in samples if name.startswith("rumor_database_")]
        assert time.monotonic() - started < 10
    finally:
        silent.set()


def test_sends_nothing_that_other_libraries_declare(running: Collector) -> None:
    """No series of the process or of when a counter was made (`_created`) is sent."""
    names = [name for name in scrape(running) if not name.startswith("rumor_")]
    assert names == []
    assert "_created" not in running.client.get("/metrics").text
