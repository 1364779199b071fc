"""What an analyst's page does around the estimate: repeated answers, and spreadsheets."""

import csv
import io
from pathlib import Path

import pytest
from tests.harness.collector import batch, collector, days_ago, registry, report

from rumor_server.queries.question import most_reports
from rumor_server.queries.rows import Row, defused, rows_csv
from rumor_server.queries.service import QueryService
from rumor_server.storage.sqlite.store import SqliteStore

MEMOISED = """
[metrics.m]
revision = 1
mechanism = "basic_rappor"
f = 0.5
p = 0.25
q = 0.75
max_values = 1
values = ["a", "b", "c"]
daily_epsilon = 3.0
owner = "o"
purpose = "p"
expires = 2999-12-31
"""


def test_knows_how_often_one_device_can_report() -> None:
    """As often a day as its daily epsilon pays for, on every day, and no more than n."""
    metric = registry(MEMOISED).metric("m")
    a_day = metric.daily_epsilon // metric.mechanism.epsilon_report
    assert a_day > 1
    assert most_reports(metric, 1, 10**6) == a_day
    assert most_reports(metric, 30, 10**6) == 30 * a_day
    assert most_reports(metric, 30, 7) == 7
    assert most_reports(metric, 0, 0) == 1


def test_widens_what_devices_repeat(tmp_path: Path) -> None:
    """Memoised answers of several days are less exact than their n: the error grows with the span.

    The same reports on one day, on two and on a span that is longer than the data.
    """
    errors = {}
    for days in (1, 2):
        with collector(tmp_path / f"{days}.sqlite3", MEMOISED) as running:
            for number in range(40):
                running.send(batch(report("m", b"\x01"), day=days_ago(number % days)))
            rows = running.estimates("m", **{"from": str(days_ago(7))})["rows"]
            errors[days] = rows[0]["std_error"]
    assert errors[2] > 1.1 * errors[1]


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "'=1",
        "''@x",
        "-",
        "=",
        "+x",
    ],
)
def test_defuses_a_formula(text: str) -> None:
    """Text that a spreadsheet would run gets an apostrophe, which can be taken away again."""
    assert defused(text) == "'" + text


@pytest.mark.parametrize(
    "text",
    ["", "dark", "a=b", "1-2", "it's", "'quoted'", "-1", "+5", "-0.25", "é", "http://x/?a=1"],
)
def test_leaves_ordinary_text_alone(text: str) -> None:
    """Words, and numbers with a sign, are written as they are."""
    assert defused(text) == text


def test_never_makes_one_of_two_values() -> None:
    """Two values that differ stay different."""
    texts = ["=1", "'=1", "''=1", "1", "'1", "-1", "'-1"]
    assert len({defused(text) for text in texts}) == len(texts)


def test_writes_numbers_as_numbers(tmp_path: Path) -> None:
    """Of a row only the value is text: negative estimates are read back as they were."""
    text = MEMOISED.replace('"a"', '"=HYPERLINK(0)"').replace('"b"', '"-1"')
    database = tmp_path / "rumor.sqlite3"
    with collector(database, text) as running:
        running.send(batch(report("m", b"\x01"), report("m", b"\x00")))
        page = running.estimates("m")
        answer = running.client.get("/v1/metrics/m/estimates?format=csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["value"] for row in rows] == ["'=HYPERLINK(0)", "-1", "c"]
    for row, expected in zip(rows, page["rows"], strict=True):
        for name in set(Row.model_fields) - {"value", "mechanism", "significant"}:
            assert row[name] == str(expected[name])
        assert row["significant"] == str(expected["significant"]).lower()
    assert any(float(row["frequency"]) < 0 for row in rows)
    store = SqliteStore(database)
    service = QueryService(store)
    found = service.estimates(service.question("m"))
    assert rows_csv(found.rows, found.scope) == answer.text
    store.close()
