"""The pages through the whole application: states, formats, headers, and what can't be answered."""

import csv
import io
import json
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.harness.collector import TODAY, Collector, days_ago
from tests.harness.filled_collector import PAGES, THEMES
from tests.server.http.dashboard.conftest import A_DAY, DAYS

HTML = {"Accept": "text/html"}
JSON = {"Accept": "application/json"}
CSV = {"Accept": "text/csv"}
SECRET = "SECRET123"


class Checked(HTMLParser):
    """Collects what a page loads, and fails on tags that never close or close another."""

    VOID = frozenset({"meta", "link", "img", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and where it leads."""
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name != "style"
            if name == "id":
                self.ids.append(value or "")
            if name in {"href", "src", "action"}:
                self.targets.append(value or "")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself, as SVG has them."""
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Hold an end to its beginning."""
        assert self.open.pop() == tag


def get(running: Collector, path: str, status: int = 200, headers: dict[str, str] = HTML) -> Any:
    """An answer of the dashboard, as a browser asks unless said otherwise."""
    answer = running.client.get(path, headers=headers, follow_redirects=False)
    assert answer.status_code == status, answer.text
    return answer


def document(running: Collector, path: str) -> Any:
    """A page as JSON."""
    return json.loads(get(running, path, headers=JSON).text, parse_constant=pytest.fail)


def upload(running: Collector, path: str = "/metric/page/candidates", **form: Any) -> Any:
    """Send the form of candidates."""
    return running.client.post(path, headers=HTML, follow_redirects=False, **form)


COMPARED = (
    f"/metric/theme?from={days_ago(2)}&to={TODAY}&compare_from={days_ago(5)}"
    f"&compare_to={days_ago(3)}"
)
PATHS = [
    "/",
    "/metric/theme",
    COMPARED,
    "/metric/theme?revision=1&alpha=0.01&sort=value&find=li&shows=0.5&value=dark",
    "/metric/page",
    "/metric/rare",
    "/metric/quiet",
    "/metric/old",
    "/metric/theme?from=2020-01-01&to=2020-01-02",
    "/metric/theme?from=2030-01-01",
]


@pytest.mark.parametrize("path", PATHS)
def test_loads_nothing_but_its_own(running: Collector, path: str) -> None:
    """A page is well formed, has no script and no inline style, and names no other host."""
    answer = get(running, path)
    page = Checked(answer.text)
    assert "script" not in page.tags
    assert "style" not in page.tags
    assert all(re.match(r"[/#](?!/)", target) for target in page.targets)
    assert len(set(page.ids)) == len(page.ids)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", PATHS)
def test_leads_to_answers_alone(running: Collector, path: str) -> None:
    """Every link of a page is answered, and so is its form of CSV and JSON."""
    for target in set(Checked(get(running, path).text).targets):
        if not target.startswith("#") and not target.endswith("/candidates"):
            assert running.client.get(target).status_code == 200, target
    joint = "&" if "?" in path else "?"
    for format_, kind in (("csv", "text/csv"), ("json", "application/json")):
        named = get(running, f"{path}{joint}format={format_}")
        asked = get(running, path, headers={"Accept": kind})
        assert named.headers["content-type"].startswith(kind)
        assert named.text == asked.text


@pytest.mark.parametrize("path", PATHS)
def test_is_not_sent_twice(running: Collector, path: str) -> None:
    """Who has a page already is told so; HEAD has its headers."""
    answer = get(running, path)
    again = get(running, path, 304, {**HTML, "If-None-Match": answer.headers["etag"]})
    assert again.text == ""
    assert running.client.head(path, headers=HTML).headers["etag"] == answer.headers["etag"]


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [
        ("theme", "Collecting", "Reports are taken until 31 Dec 2026."),
        ("rare", "Withheld", "At most 900 reports of 1,000 are missing"),
        ("quiet", "No reports yet", "no report was counted yet"),
        ("old", "Expired", "Its last day was 28 Nov 2026"),
    ],
)
def test_says_what_state_a_metric_is_in(
    running: Collector, name: str, state: str, words: str
) -> None:
    """The list and the page say the same word, and the page says why."""
    card = get(running, "/").text.split(f'/metric/{name}">')[1]
    assert card.index(state) < card.index("</h2>")
    page = get(running, f"/metric/{name}").text
    assert words in page
    assert f">{state}</span>" in page


def test_shows_nothing_of_what_is_withheld(running: Collector) -> None:
    """Below its minimum a metric shows how many reports are missing, in every format."""
    page = get(running, "/metric/rare").text
    assert "At most 900 reports are missing" in page
    assert "<rect class=" not in page
    shown = document(running, "/metric/rare")
    assert (shown["status"], shown["n"], shown["missing"]) == ("withheld", 100, 900)
    assert {row["frequency"] for row in shown["rows"]} == {None}
    rows = list(csv.DictReader(io.StringIO(get(running, "/metric/rare", headers=CSV).text)))
    assert {row["frequency"] for row in rows} == {""}


def test_shows_the_numbers_of_the_api(running: Collector) -> None:
    """Page, CSV, JSON and API agree to the last digit."""
    api = {row["value"]: row for row in running.estimates("theme")["rows"]}
    table = get(running, "/metric/theme").text.split('<table id="values">')[1].split("</table>")[0]
    rows = re.findall(r'<th scope="row"><a [^>]*>(.*?)</a>.*?<data value="(.*?)">', table, re.S)
    assert {unescape(value): float(number) for value, number in rows} == {
        value: row["frequency"] for value, row in api.items()
    }
    for row in document(running, "/metric/theme")["rows"]:
        expected = api[row["value"]]
        assert {name: row[name] for name in row if name in expected} == {
            name: expected[name] for name in row if name in expected
        }
    text = get(running, "/metric/theme", headers=CSV).text
    read = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["std_error"]) for row in read] == [
        api[row["value"]]["std_error"] for row in read
    ]
    assert sum(float(row["post_processed"]) for row in read) == pytest.approx(1)
    assert {"n", "epsilon", "mechanism", "revision", "low", "high"} < set(read[0])


def test_escapes_what_is_not_ours(running: Collector) -> None:
    """A value that looks like a tag is text."""
    page = get(running, "/metric/theme").text
    assert THEMES[-1] not in page
    assert "&lt;b&gt;&amp;&#34;&#39;" in page


def test_filters_by_days(running: Collector) -> None:
    """Days are inclusive on both sides."""
    assert document(running, "/metric/theme")["n"] == DAYS * A_DAY
    two = document(running, f"/metric/theme?from={days_ago(1)}&to={TODAY}")
    assert (two["n"], two["first_day"], two["last_day"]) == (
        2 * A_DAY,
        str(days_ago(1)),
        str(TODAY),
    )
    for bound in ("to=2020-01-01", "from=2030-01-01"):
        assert document(running, f"/metric/theme?{bound}")["n"] == 0
    assert document(running, "/metric/theme?revision=1")["n"] == (DAYS - DAYS // 2) * A_DAY


def test_sorts_finds_and_turns_pages(running: Collector) -> None:
    """The table's order and its search hold for its CSV too."""
    rows = document(running, "/metric/theme?sort=value")["rows"]
    assert [row["value"] for row in rows] == sorted(THEMES, key=str.casefold)
    rows = document(running, "/metric/theme?sort=frequency")["rows"]
    assert [row["frequency"] for row in rows] == sorted(row["frequency"] for row in rows)
    rows = document(running, "/metric/theme?find=IGH")["rows"]
    assert {row["value"] for row in rows} == {"light", "high contrast"}
    page = get(running, "/metric/theme?sort=-value&find=igh").text
    assert 'aria-sort="descending"' in page
    assert "2 of 5 values" in page


def test_shows_how_shares_moved(running: Collector) -> None:
    """A trend has a point a day, and a mark where a revision begins."""
    trend = document(running, "/metric/theme?value=dark&value=light")["trend"]
    assert [row["value"] for row in trend] == ["dark"] * DAYS + ["light"] * DAYS
    assert [row["n"] for row in trend] == [A_DAY] * DAYS * 2
    one = running.estimates("theme", **{"from": str(TODAY), "to": str(TODAY)})
    dark = next(row for row in one["rows"] if row["value"] == "dark")
    assert trend[DAYS - 1]["frequency"] == dark["frequency"]
    page = get(running, "/metric/theme?value=dark").text
    assert page.count('<figure class="panel">') == 1
    assert page.count("revision 2</text>") == 1
    assert '<line class="mark" x1="50.0%"' in page
    text = get(running, "/metric/theme?part=trend&format=csv").text
    assert len(list(csv.DictReader(io.StringIO(text)))) == DAYS * len(THEMES)


def test_compares_two_periods(running: Collector) -> None:
    """Each value's change has its own interval, and a number of reports that would show it."""
    compared = document(running, COMPARED)["comparison"]
    assert compared["n"] == 3 * A_DAY
    before, after = (
        {row["value"]: row["frequency"] for row in running.estimates("theme", **query)["rows"]}
        for query in (
            {"from": str(days_ago(5)), "to": str(days_ago(3))},
            {"from": str(days_ago(2)), "to": str(TODAY)},
        )
    )
    for row in compared["rows"]:
        assert row["difference"] == pytest.approx(after[row["value"]] - before[row["value"]])
        assert row["low"] < row["difference"] < row["high"]
        assert row["reports_needed"] is None or row["reports_needed"] > 0
    page = get(running, COMPARED).text
    assert "What changed" in page
    assert "these are a sample of" in page
    theirs = get(running, f"{COMPARED}&of=devices").text
    assert "among these very devices" in theirs
    own = document(running, f"{COMPARED}&of=devices")["comparison"]["rows"]
    for row in compared["rows"]:
        narrow = next(one for one in own if one["value"] == row["value"])
        assert narrow["std_error"] < row["std_error"]
    assert page.count("<tr>") > len(THEMES)
    nothing = COMPARED.replace(str(days_ago(5)), "2020-01-01").replace(
        str(days_ago(3)), "2020-01-02"
    )
    assert "so there is nothing to compare" in get(running, nothing).text


def test_says_how_many_reports_are_missing(running: Collector) -> None:
    """A large difference needs no more reports, a small one many."""
    assert "<strong>None.</strong>" in get(running, "/metric/theme?shows=90").text
    assert "more reports.</strong>" in get(running, "/metric/theme?shows=0.5").text
    assert "No number of reports" in get(running, "/metric/theme?shows=0.000001").text


def test_cleans_the_address_of_a_form(running: Collector) -> None:
    """A form's empty fields lead to the permalink."""
    answer = get(running, f"/metric/theme?from={TODAY}&to=&alpha=0.05&top=20", 303)
    assert answer.headers["location"] == f"/metric/theme?from={TODAY}"


def test_keeps_uploaded_candidates_under_a_permalink(running: Collector) -> None:
    """File and typed lines lead to one address, which answers like the API."""
    lines = "\n".join(PAGES).encode()
    answer = upload(running, files={"file": ("list.txt", lines, "text/plain")})
    assert answer.status_code == 303
    where = answer.headers["location"]
    assert upload(running, data={"texts": "\n".join(PAGES)}).headers["location"] == where
    shown = document(running, where)
    body = {"candidates": PAGES}
    api = running.client.post("/v1/metrics/page/estimates", json=body).json()
    assert shown["unexplained"] == api["unexplained"]
    assert {row["value"]: row["frequency"] for row in shown["rows"]} == {
        row["value"]: row["frequency"] for row in api["rows"]
    }
    page = get(running, where).text
    assert "What is not explained" in page
    assert f'<data value="{api["unexplained"]}">' in page
    assert "Draw it" in page
    assert '<figure class="panel">' in get(running, f"{where}&trend=yes").text
    assert where in get(running, "/metric/page").text.replace("&amp;", "&")


@pytest.mark.parametrize(
    ("path", "form", "status", "words"),
    [
        ("page", {"data": {"texts": " \n"}}, 400, "there are none"),
        ("page", {"files": {"file": ("x", SECRET.encode() + b"\xff")}}, 400, "line 1 is not UTF-8"),
        ("page", {"data": {"texts": SECRET * 1000}}, 400, "line 1 has"),
        ("page", {"content": SECRET}, 415, "multipart/form-data"),
        (
            "page",
            {
                "content": SECRET,
                "headers": {"Content-Type": "multipart/form-data; boundary=x"},
            },
            400,
            "form is broken",
        ),
        ("page", {"data": {"texts": "x" * (9 << 20)}}, 413, ""),
        ("theme", {"data": {"texts": SECRET}}, 400, "lists its values itself"),
        (SECRET, {"data": {"texts": "a"}}, 404, "no registry ever declared"),
    ],
)
def test_explains_a_list_that_can_not_be(
    running: Collector, path: str, form: dict[str, Any], status: int, words: str
) -> None:
    """What is wrong with an upload is told on a page, without a word of it."""
    headers = {**HTML, **form.pop("headers", {})}
    answer = running.client.post(f"/metric/{path}/candidates", headers=headers, **form)
    assert answer.status_code == status, answer.text
    Checked(answer.text)
    assert words in answer.text
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        (f"/metric/{SECRET}", 404, "no registry ever declared"),
        ("/metric/theme?revision=9", 404, "no registry ever declared"),
        (f"/metric/theme?from={SECRET}", 400, "query.from"),
        (f"/metric/theme?{SECRET}=1", 400, "query: holds"),
        (f"/metric/theme?value={SECRET}", 400, "query.value"),
        (f"/metric/page?candidates={'0' * 64}", 404, "is not kept here"),
        (f"/metric/theme?format={SECRET}", 400, "query.format"),
        (f"/?{SECRET}=1", 400, "query: holds"),
        (f"/static/{SECRET}", 404, "no such file"),
    ],
)
def test_explains_what_can_not_be_shown(
    running: Collector, path: str, status: int, words: str
) -> None:
    """People get a page and programs a problem, of one status, without what was sent."""
    page = get(running, path, status)
    assert page.headers["content-type"].startswith("text/html")
    Checked(page.text)
    assert words in unescape(page.text)
    assert SECRET not in page.text
    if "format" not in path and "static" not in path:
        problem = get(running, path, status, JSON)
        assert problem.headers["content-type"] == "application/problem+json"
        assert words in problem.json()["detail"]
        assert "default-src 'none'" in problem.headers["content-security-policy"]


def test_lists_every_metric(running: Collector) -> None:
    """The front page has a card a metric, with reports and devices of today."""
    shown = {one["metric"]: one for one in document(running, "/")["metrics"]}
    assert list(shown) == ["theme", "page", "rare", "habit", "quiet", "old"]
    assert shown["theme"]["reports"] == DAYS * A_DAY
    assert shown["theme"]["reports_today"] == A_DAY
    assert shown["theme"]["devices_today"] == f"1 to {A_DAY}"
    assert sum(shown["theme"]["reports_by_day"]) == DAYS * A_DAY
    assert shown["quiet"]["devices_today"] == "0"
    rows = list(csv.DictReader(io.StringIO(get(running, "/", headers=CSV).text)))
    assert [row["metric"] for row in rows] == list(shown)


def test_states_what_a_report_reveals(running: Collector) -> None:
    """Every page of a metric has its privacy card, with the mechanism's own figures."""
    page = unescape(get(running, "/metric/page").text)
    metric = running.store.revisions("page")[-1]
    infinity = metric.mechanism.epsilon_infinity
    assert infinity is not None
    for words in (
        "What a device gives away",
        "What the server knows",
        "What it can't know",
        "Who answers",
        "What is dropped, and why",
        "one of 4, which a device keeps: 2 bits of identity",
        "permanent answers for at most 1 value",
        f"{infinity / 1e6:.2f}"[:-1],
    ):
        assert words in page, words
    assert "Nothing bounds it" in get(running, "/metric/theme").text


def test_offers_its_files_for_ever(running: Collector) -> None:
    """What a page loads is named by its content."""
    (sheet,) = set(re.findall(r'href="(/static/dashboard\.css\?\w+)"', get(running, "/").text))
    answer = get(running, sheet)
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
    assert "url(" not in answer.text
    assert "@import" not in answer.text


@pytest.mark.parametrize("headers", [HTML, JSON, CSV])
@pytest.mark.parametrize(
    "period", ["to=9999-12-31", "from=0001-01-01", "from=0001-01-01&to=9999-12-31"]
)
def test_the_ends_of_the_calendar_are_days(
    running: Collector, period: str, headers: dict[str, str]
) -> None:
    """A period that reaches the first or the last day there is gets an answer, not a fault."""
    get(running, f"/metric/theme?{period}", headers=headers)
