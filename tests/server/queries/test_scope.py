"""No number without what it speaks of: the revision, the days, whose reports, how few (K10)."""

import csv
import io
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.harness.collector import TODAY, Collector, batch, collector, days_ago, registry, report

from rumor_server.cli import query
from rumor_server.queries.precision import population_of, reports_for, too_few
from rumor_server.queries.question import Population, question_of

METRIC = """
[registry]
max_age_days = 60
daily_epsilon = 100.0

[metrics.theme]
revision = {revision}
mechanism = "krr"
epsilon = {epsilon}
values = {values}
daily_epsilon = {daily}
owner = "o"
purpose = "p"
expires = 2999-12-31
"""


def text(revision: int, values: list[str], daily: float = 1.0, epsilon: float = 1.0) -> str:
    """A registry of one metric."""
    quoted = ", ".join(f'"{value}"' for value in values)
    return METRIC.format(revision=revision, values=f"[{quoted}]", daily=daily, epsilon=epsilon)


@pytest.fixture
def revised(tmp_path: Path) -> Iterator[Collector]:
    """Thirty reports before a revision with another value, then twelve."""
    database = tmp_path / "rumor.sqlite3"
    with collector(database, text(1, ["light", "dark"])) as running:
        for ago in (9, 8, 7):
            for _ in range(10):
                running.send(batch(report(revision=1, payload=b"\x01"), day=days_ago(ago)))
    with collector(database, text(2, ["light", "dark", "system"])) as running:
        for _ in range(12):
            running.send(batch(report(revision=2, payload=b"\x01"), day=days_ago(2)))
        yield running


def page(running: Collector, **query: Any) -> Any:
    """The metric's page as HTML."""
    answer = running.client.get(
        "/metric/theme", params=query, headers={"Accept": "text/html"}, follow_redirects=True
    )
    assert answer.status_code == 200
    return answer.text


def test_begins_with_the_revision(revised: Collector) -> None:
    """A-02: the period is the revision's own, and says what it leaves out and why."""
    found = revised.estimates("theme")
    assert (found["status"], found["n"]) == ("ok", 12)
    assert found["first_day"] == found["since"] == str(days_ago(2))
    assert found["left_out_reports"] == []
    wide = revised.estimates("theme", **{"from": str(days_ago(20))})
    assert wide["n"] == 12
    (left_out,) = wide["left_out_reports"]
    assert left_out == {
        "revision": 1,
        "n": 30,
        "first_day": str(days_ago(9)),
        "last_day": str(days_ago(7)),
    }
    assert "30 reports of revision 1 (" in page(revised, **{"from": days_ago(20)})


@pytest.mark.parametrize("span", [(9, 9), (9, 7), (8, 3)])
def test_never_says_no_data_where_there_is_some(revised: Collector, span: tuple[int, int]) -> None:
    """A-02: days before the revision have reports, of the other one; JSON, CSV, page say so."""
    days = {"from": str(days_ago(span[0])), "to": str(days_ago(span[1]))}
    found = revised.estimates("theme", **days)
    assert (found["status"], found["n"]) == ("other_revision", 0)
    n = sum(10 for ago in (9, 8, 7) if span[1] <= ago <= span[0])
    assert [one["n"] for one in found["left_out_reports"]] == [n]
    assert all(row["frequency"] is None for row in found["rows"])
    for path in ("/v1/metrics/theme/estimates", "/metric/theme"):
        table = revised.client.get(path, params={**days, "format": "csv"}).text
        for row in csv.DictReader(io.StringIO(table)):
            assert (row["status"], row["left_out_revisions"]) == ("other_revision", "1")
            assert int(row["left_out_reports"]) == n
    shown = page(revised, **days)
    assert f"{n} reports of revision 1" in shown
    assert "nothing to estimate" not in shown


def test_says_no_data_where_there_is_none(revised: Collector) -> None:
    """Days without any report have no data, whatever the revision."""
    for ago in (20, 5):
        days = {"from": str(days_ago(ago)), "to": str(days_ago(ago))}
        found = revised.estimates("theme", **days)
        assert (found["status"], found["left_out_reports"]) == ("no_data", [])


def test_marks_the_revision_in_a_trend(revised: Collector) -> None:
    """A-02: the days before it count as left out, and the first day of it is marked."""
    days = {"from": str(days_ago(9)), "to": str(TODAY)}
    table = revised.client.get("/metric/theme", params={**days, "format": "csv", "part": "trend"})
    rows = [r for r in csv.DictReader(io.StringIO(table.text)) if r["value"] == "dark"]
    assert [row["status"] for row in rows[:3]] == ["other_revision"] * 3
    assert [row["left_out"] for row in rows[:3]] == ["10"] * 3
    assert {row["status"] for row in rows[3:7]} == {"no_data"}
    assert (rows[7]["status"], rows[7]["n"]) == ("ok", "12")
    shown = page(revised, **days)
    assert "revision 2</text>" in shown
    assert "10 of another revision" in shown


def test_a_comparison_says_which_revision_it_lacks(revised: Collector) -> None:
    """A-02: "no report" is not what is said of days that have some."""
    shown = page(
        revised,
        **{
            "from": days_ago(2),
            "to": TODAY,
            "compare_from": days_ago(9),
            "compare_to": days_ago(7),
        },
    )
    assert "only reports of a revision with other values" in shown


def test_a_command_says_what_it_leaves_out(
    revised: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    """A-02: since when, what is left out, and how to see it."""
    query._show(revised.estimates("theme", to=str(days_ago(7))), None)
    out = " ".join(capsys.readouterr().out.split())
    assert f"its first came on {days_ago(2)}" in out
    assert "left out: 30 reports of revision 1" in out
    assert "--revision 1 shows them" in out


@pytest.mark.parametrize("n", [1, 5, 30])
def test_says_that_there_are_too_few(
    tmp_path: Path, n: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A-03: a report of four values is no share of 275%; from how many on there is one is said."""
    with collector(tmp_path / "db", text(1, ["a", "b", "c", "d"])) as running:
        for _ in range(n):
            running.send(batch(report(payload=b"\x01")))
        shown = page(running)
        found = running.estimates("theme")
        query._show(found, None)
    assert 800 <= found["reports_for_10_points"] <= 900
    said = f"{n} report{'' if n == 1 else 's'}. From about {found['reports_for_10_points']} reports"
    assert f"Too few to say: {said}" in shown
    assert 'class="bars"' not in shown
    out = " ".join(capsys.readouterr().out.split())
    assert "too few to say" in out
    assert "27" not in out.split("epsilon 1")[0]


def test_intervals_stay_within_what_is_possible(tmp_path: Path) -> None:
    """A-03: beside the raw bounds stand those that a share can have."""
    with collector(tmp_path / "db", text(1, ["a", "b", "c", "d"])) as running:
        for _ in range(60):
            running.send(batch(report(payload=b"\x01")))
        shown = page(running)
        rows = running.estimates("theme")["rows"]
    assert any(row["low"] < 0 for row in rows)
    for row in rows:
        assert row["possible_low"] == min(max(row["low"], 0), 1)
        assert row["possible_high"] == min(max(row["high"], 0), 1)
    assert "raw " in shown


def test_a_number_of_reports_is_exact_enough() -> None:
    """From so many reports on, the interval of a half is within ten points, not with far fewer."""
    metric = registry(text(1, ["a", "b", "c", "d"])).metric("theme")
    question = question_of([metric], "theme")
    n = reports_for(question)
    finer = reports_for(question, 0.05)
    assert n is not None
    assert finer is not None
    assert 800 <= n <= 900
    assert finer > 3.5 * n
    assert too_few(question, n // 30)
    assert not too_few(question, n // 20)
    assert not too_few(question, 0)


@pytest.mark.parametrize(
    ("daily", "days", "population"),
    [
        (1.0, 1, Population.DEVICES),
        (1.0, 0, Population.DEVICES),
        (1.0, 2, Population.REPORTS),
        (2.0, 1, Population.REPORTS),
    ],
)
def test_says_whose_shares_they_are(daily: float, days: int, population: Population) -> None:
    """A-04: of devices only where none is counted twice."""
    metric = registry(text(1, ["a", "b"], daily)).metric("theme")
    assert population_of(question_of([metric], "theme"), days) is population


def test_tells_devices_from_reports(tmp_path: Path) -> None:
    """A-04: one day's shares are of devices, those of two days are of reports; page and JSON."""
    with collector(tmp_path / "db", text(1, ["a", "b"])) as running:
        for number in range(80):
            running.send(batch(report(payload=b"\x01"), day=days_ago(number % 2)))
        day = str(TODAY)
        one = {"from": day, "to": day}
        assert running.estimates("theme", **one)["population"] == "devices"
        assert running.estimates("theme")["population"] == "reports"
        assert "Shares of the devices that answered" in page(running, **one)
        assert "Shares of the reports" in page(running)


def test_promises_no_help_of_days_where_noise_repeats(tmp_path: Path) -> None:
    """A-04: more days of memoised devices repeat their noise; only more devices help."""
    memoised = text(1, ["a", "b"], 10.0).replace(
        'mechanism = "krr"\nepsilon = 1.0',
        'mechanism = "basic_rappor"\nf = 0.5\np = 0.25\nq = 0.75\nmax_values = 1',
    )
    for name, registered in (("fresh", text(1, ["a", "b"])), ("kept", memoised)):
        with collector(tmp_path / name, registered) as running:
            for _ in range(200):
                running.send(batch(report(payload=b"\x01")))
            shown = page(running)
        assert ("more day" in shown) == (name == "fresh")
        assert ("only more devices do" in shown) == (name == "kept")


@pytest.mark.parametrize("followed", [1, 3])
def test_says_how_many_answers_are_followed(
    tmp_path: Path, followed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A-01: of memoised answers page, JSON and command say which changes they can't show."""
    kept = text(1, ["light", "dark"], 10.0).replace(
        'mechanism = "krr"\nepsilon = 1.0',
        f'mechanism = "basic_rappor"\nf = 0.5\np = 0.25\nq = 0.75\nmax_values = {followed}',
    )
    values = f"{followed} value{'s' if followed > 1 else ''} a device are followed"
    for registered, said in ((kept, True), (text(1, ["light", "dark"]), False)):
        with collector(tmp_path / f"{said}", registered) as running:
            for _ in range(300):
                running.send(batch(report(payload=b"\x01")))
            found = running.estimates("theme")
            assert found["follows"] == (followed if said else None)
            assert (f"Answers of up to {values}" in page(running)) == said
            query._show(found, None)
            out = " ".join(capsys.readouterr().out.split())
            assert (f"answers of up to {values}" in out) == said


def test_days_of_one_revision(revised: Collector) -> None:
    """The store tells a revision's days apart; of none there are none."""
    assert revised.store.days("theme") == (days_ago(9), days_ago(2))
    assert revised.store.days("theme", 1) == (days_ago(9), days_ago(7))
    assert revised.store.days("theme", 2) == (days_ago(2), days_ago(2))
    assert revised.store.days("theme", 3) is None
    assert isinstance(days_ago(9), date)
