"""Trends and comparisons by the API: the page's numbers, in JSON and CSV."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.collector import TODAY, Collector, days_ago
from tests.harness.filled_collector import PAGES, THEMES, filled

from rumor_server.cli import query


@pytest.fixture(scope="module")
def themes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """Six days of themes, a revision in the middle."""
    with filled(tmp_path_factory.mktemp("periods"), days=6, a_day=120) as running:
        yield running


def get(running: Collector, path: str, **asked: Any) -> Any:
    """An answer of the API, parsed; with `status`, unless that is 200."""
    status = asked.pop("status", 200)
    answer = running.client.get(f"/v1/metrics/{path}", params=asked)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_trend_is_the_page_s(themes: Collector) -> None:
    """Each value on each day, with the numbers that the page draws; the revision is marked."""
    found = get(themes, "theme/trend")
    shown = themes.client.get("/metric/theme", params={"format": "json"}).json()["trend"]
    assert [row for row in shown if row["value"] == "dark"] == [
        row for row in found["rows"] if row["value"] == "dark"
    ]
    assert len(found["rows"]) == 6 * len(THEMES)
    assert found["days_a_point"] == 1
    assert found["revisions"] == [{"first_day": str(days_ago(2)), "revision": 2}]
    table = themes.client.get("/v1/metrics/theme/trend", headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [(row["first"], row["value"]) for row in rows] == [
        (row["first"], row["value"]) for row in found["rows"]
    ]
    again = themes.client.get(
        "/v1/metrics/theme/trend",
        headers={"Accept": "text/csv", "If-None-Match": table.headers["etag"]},
    )
    assert again.status_code == 304


def test_a_trend_of_one_day_is_one_point(themes: Collector) -> None:
    """The API draws nothing, so a single day is a trend too; of candidates as well."""
    day = {"from": str(TODAY), "to": str(TODAY)}
    assert len(get(themes, "theme/trend", **day)["rows"]) == len(THEMES)
    assert len(get(themes, "page/trend", candidate=PAGES[:2], **day)["rows"]) == 2
    assert get(themes, "quiet/trend")["rows"][0]["status"] == "no_data"


def test_a_comparison_is_the_page_s(themes: Collector) -> None:
    """The changes that the page shows, and which of them are beyond chance."""
    days = {"from": str(days_ago(1)), "to": str(TODAY)}
    other = {"compare_from": str(days_ago(5)), "compare_to": str(days_ago(4))}
    found = get(themes, "theme/comparison", **days, **other)
    shown = themes.client.get("/metric/theme", params={"format": "json", **days, **other}).json()
    assert found["rows"] == shown["comparison"]["rows"]
    assert found["changed"] == [row["value"] for row in found["rows"] if row["significant"]]
    assert (found["before"]["n"], found["after"]["n"]) == (240, 240)
    devices = get(themes, "theme/comparison", of="devices", **days, **other)
    errors = {row["value"]: row["std_error"] for row in found["rows"]}
    assert all(row["std_error"] < errors[row["value"]] for row in devices["rows"])
    table = get_csv(themes, "theme/comparison", **days, **other)
    assert [row["value"] for row in table] == [row["value"] for row in found["rows"]]


def get_csv(running: Collector, path: str, **asked: Any) -> list[dict[str, str]]:
    """An answer's rows as CSV."""
    answer = running.client.get(f"/v1/metrics/{path}", params={**asked, "format": "csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_a_command_prints_both(themes: Collector, capsys: pytest.CaptureFixture[str]) -> None:
    """`rumor query --trend` and `--compare` say the same in a terminal."""
    query._show_trend(get(themes, "theme/trend"))
    out = capsys.readouterr().out
    assert "(revision 2)" in out
    assert out.count("dark") == 6
    days = {"from": str(days_ago(1)), "to": str(TODAY)}
    found = get(themes, "theme/comparison", **days)
    query._show_comparison(found, None)
    out = capsys.readouterr().out
    assert ("no value changed" in out) == (not found["changed"])
    query._show_comparison(get(themes, "quiet/comparison"), None)
    assert "nothing to compare" in capsys.readouterr().out


def test_compares_with_the_period_before(themes: Collector) -> None:
    """Without another period it is the one just before, of the same length."""
    found = get(themes, "theme/comparison", **{"from": str(days_ago(2))})
    assert (found["before"]["first_day"], found["before"]["last_day"]) == (
        str(days_ago(5)),
        str(days_ago(3)),
    )
    assert found["rows"]
    nothing = get(themes, "quiet/comparison")
    assert nothing["rows"] == nothing["changed"] == []
    assert nothing["before"]["status"] == "no_data"


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        ("theme/comparison", {"compare_from": "2026-11-01"}, "compare_from"),
        (
            "theme/comparison",
            {"compare_from": str(days_ago(1)), "compare_to": str(TODAY)},
            "share days",
        ),
        ("theme/trend", {"from": "2026-11-30", "to": "2026-11-01"}, "swap"),
        ("theme/trend", {"alpha": "2"}, "alpha"),
        ("theme/comparison", {"of": "nobody"}, "write population or devices"),
        ("theme/comparison", {"compare_from": "yesterday"}, "query.compare_from"),
        ("theme/trend", {"unknown": "1"}, "query"),
        ("theme/trend", {"candidate": "a"}, "closed domain"),
    ],
)
def test_says_what_is_wrong(themes: Collector, path: str, asked: dict[str, str], said: str) -> None:
    """A period that can't be is 400 with the parameter's name."""
    assert said in get(themes, path, status=400, **asked)["detail"]


def test_knows_no_other_metric(themes: Collector) -> None:
    """What was never declared is 404."""
    for path in ("nothing/trend", "nothing/comparison"):
        get(themes, path, status=404)
    get(themes, "theme/trend", status=404, revision=9)


@pytest.mark.parametrize("path", ["thme/trend", "Theme/comparison", "them/estimates", "teme/ranks"])
def test_asks_whether_the_nearest_was_meant(themes: Collector, path: str) -> None:
    """D-12: a name that is nearly a metric's is answered with that; one that is not, with none."""
    assert "did you mean 'theme'?" in get(themes, path, status=404)["detail"]
    far = get(themes, "SECRET123/" + path.partition("/")[2], status=404)["detail"]
    assert "did you mean" not in far
    assert "SECRET" not in far


@pytest.mark.parametrize(("text", "meant"), [("drak", "dark"), ("Light", "light"), ("xyz", None)])
def test_asks_which_value_was_meant(themes: Collector, text: str, meant: str | None) -> None:
    """D-12: so is a value that is followed."""
    answer = themes.client.get(
        "/metric/theme", params={"value": text}, headers={"Accept": "application/json"}
    )
    assert answer.status_code == 400
    detail = answer.json()["detail"]
    assert ("did you mean" in detail) == (meant is not None)
    assert meant is None or f"{meant!r}" in detail
