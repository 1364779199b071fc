"""What an analyst can subtract: nothing of fewer reports than a metric declares (C-17)."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness.collector import TODAY, Collector, batch, collector, report

from rumor_server.queries.open_days import next_step
from rumor_server.queries.service import rough
from rumor_server.statistics.tally import Tally
from rumor_server.storage.open_days import ShownDay
from rumor_shared.registry import parse_registry

LEAST = 5
TEXT = """
[registry]
max_age_days = 7
daily_epsilon = 100.0
step_seconds = {seconds}

[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
values = ["light", "dark", "system"]
min_reports = {reports}
min_new_reports = {least}
owner = "o"
purpose = "p"
expires = 2999-12-31
"""


def text(reports: int = 1, least: int = LEAST, seconds: int = 0) -> str:
    """A registry whose open days are shown in steps."""
    return TEXT.format(reports=reports, least=least, seconds=seconds)


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[Collector]:
    """A collector that shows steps of five reports."""
    with collector(tmp_path / "rumor.sqlite3", text()) as running:
        yield running


def send(running: Collector, number: int) -> None:
    """Have one report counted, of a device of its own."""
    assert running.verdicts(batch(report(payload=bytes([number % 3])))) == ["accepted"]


def counts(running: Collector, **query: Any) -> tuple[int, ...]:
    """What the answer gives away: the support of each value in whole reports, and n."""
    found = running.estimates("theme", **query)
    if found["status"] != "ok":
        return (0, 0, 0, found["n"])
    metric = running.store.revisions("theme")[-1]
    pair = metric.mechanism.support()
    assert pair is not None
    p, q = map(float, pair)
    n = found["n"]
    return (*(round((row["frequency"] * (p - q) + q) * n) for row in found["rows"]), n)


def close(running: Collector) -> None:
    """Close the day, as a collector does when its days are past."""
    running.store.close_days(TODAY)


def test_two_looks_differ_by_many_reports(stepped: Collector) -> None:
    """A look after each report: each difference is of none or of five at least, the last one too.

    The attack is the whole of it: exact answers give whole counts, and their difference a payload.
    """
    looks = [counts(stepped)]
    for number in range(23):
        send(stepped, number)
        looks.append(counts(stepped))
    close(stepped)
    looks.append(counts(stepped))
    assert looks[-1][-1] == 23
    steps = [after[-1] - before[-1] for before, after in itertools.pairwise(looks)]
    assert all(step == 0 or step >= LEAST for step in steps), steps
    assert len(set(looks)) > 2


@pytest.mark.parametrize("total", range(LEAST, 3 * LEAST + 2))
def test_the_last_step_is_no_smaller(tmp_path: Path, total: int) -> None:
    """However many reports a day has, what its closing adds is five reports at least, or all."""
    with collector(tmp_path / "db", text()) as running:
        seen = {counts(running)[-1]}
        for number in range(total):
            send(running, number)
            seen.add(counts(running)[-1])
        close(running)
        whole = counts(running)
    assert whole[-1] == total
    assert all(total - one >= LEAST for one in seen)


def test_an_exact_answer_gives_a_report_away(tmp_path: Path) -> None:
    """The attack works where a metric declares no steps: the test can fail, and the docs say so."""
    with collector(tmp_path / "db", text(least=1)) as running:
        send(running, 0)
        before = counts(running)
        send(running, 1)
        after = counts(running)
    assert [b - a for a, b in zip(before, after, strict=True)] == [0, 1, 0, 1]


def test_every_door_shows_the_same_step(stepped: Collector) -> None:
    """API, page, trend, list of metrics and sparkline count no report that is not shown yet."""
    for number in range(2 * LEAST):
        send(stepped, number)
        counts(stepped)
    send(stepped, 0)
    n = counts(stepped)[-1]
    assert 0 < n <= LEAST + 1
    page = stepped.client.get("/metric/theme", params={"format": "json"}).json()
    assert page["n"] == n
    listed = stepped.client.get("/", params={"format": "json"}).json()["metrics"][0]
    assert (listed["reports"], listed["reports_today"]) == (n, n)
    assert sum(listed["reports_by_day"]) == n
    found = stepped.estimates("theme")
    assert all(one["looked_at"] == 0 for one in found["authenticity"])


def test_stands_still_after_a_restart(tmp_path: Path) -> None:
    """Another process shows the same step; a fresh one would be a look at another moment."""
    database = tmp_path / "db"
    with collector(database, text()) as running:
        for number in range(3 * LEAST):
            send(running, number)
            counts(running)
        shown = counts(running)
        for number in range(LEAST - 2):
            send(running, number)
        with collector(database, text()) as other:
            assert counts(other) == counts(running) == shown
    with collector(database, text()) as again:
        assert counts(again) == shown


def test_stands_still_for_its_time(tmp_path: Path) -> None:
    """However many reports come, the second step takes `step_seconds`."""
    with collector(tmp_path / "db", text(seconds=3600)) as running:
        for number in range(3 * LEAST):
            send(running, number)
            counts(running)
        first = counts(running)
        for number in range(6 * LEAST):
            send(running, number)
            counts(running)
        assert counts(running) == first


def test_a_withheld_metric_does_not_count_aloud(tmp_path: Path) -> None:
    """n and missing change by tenths of the minimum, on each door and in Prometheus' page."""
    with collector(tmp_path / "db", text(reports=100, least=1)) as running:
        for number in range(57):
            send(running, number)
        found = running.estimates("theme")
        assert (found["status"], found["n"], found["missing"]) == ("withheld", 50, 50)
        page = running.client.get("/metric/theme", headers={"Accept": "text/html"}).text
        metrics = running.client.get("/metrics").text
        listed = running.client.get("/", params={"format": "json"}).text
    assert 'rumor_database_counted_reports{metric="theme",revision="1"} 50' in metrics
    for shown_there in (page, listed):
        assert not re.search(r"(?<![\d.])(57|43)(?![\d%])", shown_there)


@pytest.mark.parametrize(
    ("n", "least", "rounded"),
    [(57, 100, 50), (100, 100, 100), (7, 10, 7), (3, 1, 3), (999, 1000, 900)],
)
def test_rounds_what_is_withheld(n: int, least: int, rounded: int) -> None:
    """Below the minimum in its tenths, from it on exactly."""
    assert rough(n, least) == rounded


def test_steps_are_as_large_as_the_minimum() -> None:
    """Unless declared, two answers differ by as many reports as one needs."""
    for declared, expected in (("", 100), ("min_new_reports = 3\n", 3)):
        body = text(reports=100).replace(f"min_new_reports = {LEAST}\n", declared)
        assert parse_registry(body.encode()).metric("theme").min_new_reports == expected


def shown(n: int, waiting: int | None, stepped_at: int = 0) -> ShownDay:
    """A state of a day."""
    return ShownDay(tally(n), None if waiting is None else tally(waiting), 3, stepped_at)


def tally(n: int) -> Tally:
    """A tally of n reports."""
    return Tally(np.array([n]), np.array([[n]]))


@pytest.mark.parametrize(
    ("before", "n", "now", "after"),
    [
        (shown(0, None), 4, 0, None),
        (shown(0, None), 5, 0, (0, 5)),
        (shown(0, 5), 9, 100, None),
        (shown(0, 5), 10, 100, (5, 10)),
        (shown(0, 5, 50), 10, 59, None),
        (shown(5, 10), 14, 100, None),
        (shown(5, 10), 40, 100, (10, 40)),
        (shown(5, 10), 3, 100, None),
    ],
)
def test_what_is_next(before: ShownDay, n: int, now: int, after: tuple[int, int] | None) -> None:
    """A tally waits until as many reports came after it, and until its time."""
    found = next_step(before, tally(n), 5, 10, now)
    if after is None:
        assert found is None
    else:
        assert found is not None
        assert found.waiting is not None
        assert (found.shown.n, found.waiting.n) == after
        assert found.step == before.step + 1
