"""Every face gives the same numbers, each estimated once, and nothing that is withheld."""

import csv
import io
import json
from datetime import date
from typing import Any

import pytest
from tests.harness.collector import TODAY, Collector, days_ago
from tests.harness.filled_collector import PAGES

import rumor_server.queries.cache as cache
import rumor_server.queries.service as module
from rumor_server.queries.question import Status
from rumor_server.queries.rows import Row
from rumor_server.queries.service import QueryService
from rumor_server.reader.database import ask_database
from rumor_server.statistics.mechanisms import estimate_metric

PERIODS = [
    (date(2020, 1, 1), date(2030, 1, 1)),
    (days_ago(1), TODAY),
    (days_ago(5), days_ago(4)),
    (date(2020, 1, 1), date(2020, 1, 2)),
]


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("theme", {"alpha": 0.05}),
        ("theme", {"alpha": 0.01, "revision": 1}),
        ("page", {"alpha": 0.05, "candidates": PAGES}),
        ("page", {"alpha": 0.05}),
        ("habit", {"alpha": 0.05}),
        ("rare", {"alpha": 0.05}),
        ("quiet", {"alpha": 0.05}),
        ("old", {"alpha": 0.1}),
    ],
)
def test_gives_the_same_rows_everywhere(
    running: Collector, name: str, query: dict[str, Any], period: tuple[date, date]
) -> None:
    """API and page, each as JSON and as CSV, and the reader on the file: every number of a row."""
    texts = query.pop("candidates", None)
    days = {"from": period[0], "to": period[1]}
    asked = {**days, **query}
    given: dict[str, Any] = {"json": {"candidates": texts}} if texts else {}
    method = "POST" if texts else "GET"
    path = f"/v1/metrics/{name}/estimates"
    api = running.client.request(method, path, params=asked, **given)
    table = running.client.request(method, path, params=asked | {"format": "csv"}, **given)
    listed = {}
    if texts:
        sent = running.client.post(
            f"/metric/{name}/candidates", data={"texts": "\n".join(texts)}, follow_redirects=False
        )
        listed = {"candidates": sent.headers["location"].partition("candidates=")[2]}
    shown = asked | {"sort": "value"} | listed
    page, page_table = (
        running.client.get(f"/metric/{name}", params=shown | {"format": format_})
        for format_ in ("json", "csv")
    )
    file = ask_database(running.database, name, asked, texts)
    expected = api.json()["rows"]
    assert file["rows"] == expected
    in_order = sorted(expected, key=lambda row: row["value"].casefold())
    assert page.json()["rows"] == in_order
    for text, wanted in ((table.text, expected), (page_table.text, in_order)):
        read = list(csv.DictReader(io.StringIO(text)))
        assert [{name: row[name] for name in Row.model_fields} for row in read] == [
            _written(row) for row in wanted
        ]
        assert {row["status"] for row in read} <= {api.json()["status"]}
    for field in ("status", "n", "missing", "unexplained", "left_out", "since", "population"):
        assert api.json()[field] == page.json()[field] == file[field]


def _written(row: dict[str, Any]) -> dict[str, str]:
    return {
        name: "" if x is None else json.dumps(x) if isinstance(x, bool) else str(x)
        for name, x in row.items()
    }


def test_holds_no_number_of_what_is_withheld(running: Collector) -> None:
    """A metric below its minimum has a count of reports and nothing else."""
    service = QueryService(running.store)
    measured = service.measure(service.question("rare"), *PERIODS[0])
    assert (measured.status, measured.n, measured.missing) == (Status.WITHHELD, 100, 900)
    assert not measured.answer.frequency.size
    assert measured.unexplained is None


def test_estimates_once(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tallies are estimated once, whatever the period is called; other ones anew."""
    calls = []

    def counting(*args: Any, **more: Any) -> Any:
        calls.append(args[0].name)
        return estimate_metric(*args, **more)

    monkeypatch.setattr(module, "estimate_metric", counting)
    service = QueryService(running.store)
    question = service.question("quiet", alpha=0.05)
    for _ in range(3):
        service.measure(question, *PERIODS[0])
    assert calls == ["quiet"]
    theme = service.question("theme", alpha=0.05)
    one = service.measure(theme, days_ago(1), days_ago(1))
    assert service.measure(theme, days_ago(1), days_ago(1)) is one
    assert service.measure(theme, TODAY, TODAY) is not one
    other = service.question("theme", alpha=0.01)
    assert service.measure(other, days_ago(1), days_ago(1)) is not one


def test_forgets_the_oldest(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded by its rows."""
    monkeypatch.setattr(cache, "_KEPT_ROWS", 13)
    service = QueryService(running.store)
    question = service.question("theme", alpha=0.05)
    first = service.measure(question, TODAY, TODAY)
    for ago in (1, 2):
        service.measure(question, days_ago(ago), days_ago(ago))
    assert service.measure(question, TODAY, TODAY) is not first
