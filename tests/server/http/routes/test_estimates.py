"""Estimates, metrics, the registry and health, as people read them."""

import csv
import hashlib
import io
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from tests.harness.collector import (
    REGISTRY,
    TODAY,
    Collector,
    batch,
    collector,
    days_ago,
    registry,
    report,
)

from rumor_server.errors import BadRequest
from rumor_server.queries.service import QueryService
from rumor_shared.errors import RegistryError

NULLS = ["estimate", "frequency", "std_error", "low", "high", "simultaneous_low"]
NULLS += ["simultaneous_high", "p_value", "significant"]


def strictly(text: str) -> Any:
    """Parse JSON without NaN and Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("metric", "query"),
    [
        ("theme", {}),
        ("theme", {"from": "2020-01-01", "to": "2020-01-02"}),
        ("page", {"candidate": ["a", "b"]}),
        ("page", {}),
        ("old", {"alpha": "0.5"}),
    ],
)
@pytest.mark.parametrize("some", [False, True])
def test_answers_no_data_with_nulls(
    running: Collector, metric: str, query: dict[str, Any], some: bool
) -> None:
    """ST-07: without a report, on a day or at all, n is 0 and all that is estimated is null."""
    if some:
        running.send(batch(report()))
        query = query or {"to": "2020-01-01"}
    answer = running.client.get(f"/v1/metrics/{metric}/estimates", params=query)
    assert answer.status_code == 200
    page = strictly(answer.text)
    assert (page["status"], page["n"], page["missing"]) == ("no_data", 0, 0)
    assert len(page["rows"]) == {"theme": 3, "old": 2}.get(metric, len(query.get("candidate", [])))
    for row in page["rows"]:
        assert [row[name] for name in NULLS] == [None] * len(NULLS)
        assert row["n"] == 0


def test_answers_404_for_an_unknown_metric(running: Collector) -> None:
    """ST-07: a metric or revision that was never declared is not an empty one."""
    for path in ("/v1/metrics/unknown/estimates", "/v1/metrics/theme/estimates?revision=2"):
        answer = running.client.get(path)
        assert answer.status_code == 404
        assert answer.json()["detail"].startswith("no registry ever declared")


def test_tells_every_row_in_full(running: Collector) -> None:
    """A row carries value, estimate, frequency, errors, bounds, mark, n, epsilon and its origin."""
    running.send(batch(report(), report(), report(payload=b"\x00")))
    page = running.estimates()
    p = math.e / (math.e + 2)
    q = (1 - p) / 2
    for row, count in zip(page["rows"], (1, 2, 0), strict=True):
        assert row["frequency"] == pytest.approx((count / 3 - q) / (p - q))
        assert row["estimate"] == pytest.approx(3 * row["frequency"])
        assert row["low"] < row["high"]
        assert row["simultaneous_low"] <= row["low"]
        assert row["simultaneous_high"] >= row["high"]
        assert (row["n"], row["epsilon"], row["mechanism"]) == (3, 1.0, "krr")
        assert (row["revision"], row["significant"]) == (1, False)
    assert sum(row["frequency"] for row in page["rows"]) == pytest.approx(1)


def test_reads_a_span_of_days(running: Collector) -> None:
    """`from` and `to` are UTC days, both inclusive."""
    for ago in (0, 1, 2, 2):
        running.send(batch(report(), day=days_ago(ago)))
    assert running.estimates()["n"] == 4
    assert running.estimates(**{"from": str(days_ago(1))})["n"] == 2
    assert running.estimates(to=str(days_ago(1)))["n"] == 3
    assert running.estimates(**{"from": str(days_ago(1)), "to": str(days_ago(1))})["n"] == 1
    page = running.estimates()
    assert (page["first_day"], page["last_day"]) == (str(days_ago(2)), str(TODAY))


def test_decodes_candidates_however_they_come(running: Collector) -> None:
    """Candidates of an open domain are given in the address or, when many, in a body."""
    running.send(batch(report("page", b"\x03\x80", revision=3, cohort=2)))
    few = running.estimates("page", candidate=["home", "about"])
    answer = running.client.post(
        "/v1/metrics/page/estimates", json={"candidates": ["home", "about"]}
    )
    assert answer.json() == few
    assert [row["value"] for row in few["rows"]] == ["home", "about"]
    assert few["unexplained"] is not None
    assert running.estimates("page")["rows"] == []


@pytest.mark.parametrize("body", [{"candidates": ["\ud800"]}, {"candidates": ["x" * 5000]}])
def test_refuses_candidates_that_cannot_be(running: Collector, body: Any) -> None:
    """EN-01: a lone surrogate or an endless text among the candidates is 400, and all goes on."""
    running.send(batch(report("page", b"\x03\x80", revision=3, cohort=2)))
    answer = running.client.post(
        "/v1/metrics/page/estimates",
        content=json.dumps(body),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 400
    assert running.client.get("/healthz").status_code == 200


def test_refuses_candidates_of_a_closed_domain(running: Collector) -> None:
    """A closed domain lists its own values."""
    running.send(batch(report()))
    answer = running.client.get("/v1/metrics/theme/estimates?candidate=dark")
    assert answer.status_code == 400
    assert "closed domain" in answer.json()["detail"]


def test_writes_csv(running: Collector) -> None:
    """CSV has the rows of the JSON, by format= or by Accept; null is an empty field."""
    url = "/v1/metrics/theme/estimates"
    empty = running.client.get(url, params={"format": "csv"})
    assert [row["frequency"] for row in csv.DictReader(io.StringIO(empty.text))] == [""] * 3
    running.send(batch(report()))
    answer = running.client.get(url, headers={"Accept": "text/csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    for row, expected in zip(rows, running.estimates()["rows"], strict=True):
        significant = "true" if expected.pop("significant") else "false"
        assert row.pop("significant") == significant
        assert {name: row[name] for name in expected} == {
            name: str(value) for name, value in expected.items()
        }
    forced = running.client.get(url, params={"format": "json"}, headers={"Accept": "text/csv"})
    assert forced.headers["content-type"] == "application/json"


_LEAST = "min_reports = 100\nmin_new_reports = 1\n"
SMALL = REGISTRY.replace("[metrics.page]", f"{_LEAST}\n[metrics.page]")


def test_withholds_until_enough_are_counted(tmp_path: Path) -> None:
    """ST-10: 99 counted and 50 refused or repeated are 99; one more releases the estimate.

    How many are missing is told in tenths (C-17): each report would be seen to come.
    """
    with collector(tmp_path / "rumor.sqlite3", SMALL) as running:
        counted = [report() for _ in range(99)]
        for start in range(0, 99, 9):
            running.send(batch(*counted[start : start + 9]))
        over = batch(*[report() for _ in range(20)])
        running.send(batch(*counted[:9], report(payload=b"\x07"), report(revision=2)))
        page = running.estimates()
        assert (page["status"], page["n"], page["missing"]) == ("withheld", 90, 10)
        assert [row["frequency"] for row in page["rows"]] == [None] * 3
        assert running.verdicts(over | {"reports": over["reports"][:1]}) == ["accepted"]
        assert running.estimates()["status"] == "ok"


@pytest.mark.parametrize("setting", ["0", "-1", "true", "1.5"])
def test_refuses_a_threshold_that_is_none(setting: str) -> None:
    """ST-10: min_reports starts at 1, which means off."""
    text = SMALL.replace("min_reports = 100", f"min_reports = {setting}")
    with pytest.raises(RegistryError, match="min_reports"):
        registry(text)


THEME = 'revision = 1\nmechanism = "krr"\n'
THEME_2 = 'revision = 2\nmechanism = "krr"\n'


def krr_answers(values: int, epsilon: float, truth: list[int], seed: int) -> list[bytes]:
    """Perturb values as the mechanism does, from a fixed seed."""
    draw = random.Random(seed)
    p = math.exp(epsilon) / (math.exp(epsilon) + values - 1)
    return [
        bytes([value if draw.random() < p else (value + 1 + draw.randrange(values - 1)) % values])
        for value in truth
    ]


def test_combines_revisions_made_under_different_noise(tmp_path: Path) -> None:
    """CF-01: each revision is debiased by its own noise, and the old one is refused from then on.

    The estimate lies within 5 standard errors of the truth, .3: a false alarm in 1.7 million.
    """
    database = tmp_path / "rumor.sqlite3"
    again = REGISTRY.replace(THEME + "epsilon = 1.0", THEME_2 + "epsilon = 2.0")
    truth = [1] * 300 + [0] * 700
    for text, epsilon, revision in ((REGISTRY, 1.0, 1), (again, 2.0, 2)):
        with collector(database, text) as running:
            for payload in krr_answers(3, epsilon, truth, seed=revision):
                sent = batch(report(payload=payload, revision=revision))
                assert running.verdicts(sent) == ["accepted"]
    with collector(database, again) as running:
        assert running.verdicts(batch(report())) == ["revision_mismatch"]
        page = running.estimates()
        row = page["rows"][1]
        assert (page["n"], page["revisions"], page["left_out"]) == (2000, [1, 2], [])
        assert abs(row["frequency"] - 0.3) < 5 * row["std_error"]
        parts = [running.estimates(revision=one) for one in (1, 2)]
        assert [part["n"] for part in parts] == [1000, 1000]
        assert row["std_error"] < min(part["rows"][1]["std_error"] for part in parts)


def test_leaves_out_revisions_with_other_values(tmp_path: Path) -> None:
    """A revision of other values is named rather than mixed in; asked for, it is told."""
    database = tmp_path / "rumor.sqlite3"
    wider = REGISTRY.replace(THEME, THEME_2).replace('"system"]', '"system", "dim"]')
    with collector(database) as running:
        running.send(batch(report()))
    with collector(database, wider) as running:
        running.send(batch(report(revision=2), report(revision=2)))
        page = running.estimates()
        assert (page["n"], page["revisions"], page["left_out"]) == (2, [2], [1])
        assert running.estimates(revision=1)["n"] == 1


def test_explains_a_metric_that_left_the_registry(tmp_path: Path) -> None:
    """A tally outlives its metric's place in the registry, and is still explained."""
    database = tmp_path / "rumor.sqlite3"
    without = REGISTRY[REGISTRY.index("[metrics.page]") :]
    with collector(database) as running:
        running.send(batch(report()))
    with collector(database, without) as running:
        assert running.verdicts(batch(report())) == ["unknown_metric"]
        assert running.estimates()["n"] == 1


def test_lists_metrics_with_their_real_cost(running: Collector) -> None:
    """Every metric is listed with its epsilon, its owner and its days of data."""
    running.send(batch(report(), day=days_ago(1)))
    metrics = running.client.get("/v1/metrics").json()["metrics"]
    assert [one["name"] for one in metrics] == ["theme", "page", "old"]
    assert metrics[0]["epsilon_report"] == 1.0
    assert metrics[0]["values"] == ["light", "dark", "system"]
    assert metrics[0]["first_day"] == metrics[0]["last_day"] == str(days_ago(1))
    assert metrics[1]["values"] is None
    assert metrics[1]["first_day"] is None
    assert metrics[1]["epsilon_infinity"] == pytest.approx(4 * math.log(3), abs=1e-6)


def test_offers_the_registry_under_its_hash(running: Collector) -> None:
    """The ETag is the SHA-256 of the body, and who has it already is told so."""
    answer = running.client.get("/v1/registry")
    assert answer.content == REGISTRY.encode()
    etag = answer.headers["etag"]
    assert etag == f'"{hashlib.sha256(answer.content).hexdigest()}"'
    again = running.client.get("/v1/registry", headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)


def test_tells_version_and_health(running: Collector) -> None:
    """Version, liveness and readiness are answered."""
    version = running.client.get("/version").json()
    assert version["server_day"] == str(TODAY)
    assert running.client.get("/healthz").json() == {"status": "ok"}
    assert running.client.get("/readyz").json() == {"status": "ready"}


@pytest.mark.parametrize(
    ("asked", "first", "last", "n"),
    [
        ({"to": "2026-10-01"}, None, "2026-10-01", 0),
        ({"from": "2027-01-01"}, "2027-01-01", None, 0),
        ({"from": "2026-10-01", "to": "2026-10-02"}, "2026-10-01", "2026-10-02", 0),
        ({"to": str(days_ago(1))}, str(days_ago(3)), str(days_ago(1)), 2),
        ({"from": str(days_ago(2))}, str(days_ago(2)), str(days_ago(1)), 1),
        ({}, str(days_ago(3)), str(days_ago(1)), 2),
    ],
)
def test_says_which_days_were_looked_at(
    running: Collector, asked: dict[str, str], first: str | None, last: str | None, n: int
) -> None:
    """What isn't asked for is where the data end; a period that holds nothing is never turned
    round: the end that nobody named is null.
    """
    for ago in (1, 3):
        running.send(batch(report(), day=days_ago(ago)))
    page = running.estimates(**asked)
    assert (page["first_day"], page["last_day"]) == (first, last)
    assert (page["n"], page["status"]) == (n, "ok" if n else "no_data")


def test_releases_at_no_level_that_nothing_can_be_computed_at(running: Collector) -> None:
    """An alpha below 10^-12, of 1 or of no number is refused by its name, on every way in."""
    running.send(batch(report()))
    assert running.estimates(alpha="1e-12")["n"] == 1
    for alpha in (math.nan, math.inf, -0.1, 0.0, 1e-323, 9e-13, 1.0):
        with pytest.raises(BadRequest, match=r"^alpha: "):
            QueryService(running.store).question("theme", alpha=alpha)
        for path in ("/v1/metrics/theme/estimates", "/metric/theme"):
            answer = running.client.get(path, params={"alpha": repr(alpha), "format": "json"})
            assert answer.status_code == 400
            assert answer.json()["detail"].startswith("query.alpha: is not from 1e-12 to 1;")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/metrics",
        "/v1/registry",
        "/v1/metrics/theme/estimates",
        "/v1/metrics/theme/estimates?format=csv&limit=1",
    ],
)
def test_sends_nothing_twice_to_who_has_it(running: Collector, path: str) -> None:
    """If-None-Match with the tag, weak or among others, is 304 until something changed."""
    running.send(batch(report(), day=days_ago(1)))
    etag = running.client.get(path).headers["etag"]
    for given in (etag, f"W/{etag}", f'"a,b", {etag}', "*"):
        again = running.client.get(path, headers={"If-None-Match": given})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
        assert running.client.head(path, headers={"If-None-Match": given}).status_code == 304
    for given in (etag.strip('"'), '"other"', etag[:-2] + '"', ""):
        assert running.client.get(path, headers={"If-None-Match": given}).status_code == 200
    running.send(batch(report()))
    changed = running.client.get(path, headers={"If-None-Match": etag})
    assert changed.status_code == (304 if path == "/v1/registry" else 200)


def test_tells_formats_apart_for_caches(running: Collector) -> None:
    """JSON and CSV of one address have tags of their own, and Vary says what decides."""
    url = "/v1/metrics/theme/estimates"
    answers = [running.client.get(url, headers={"Accept": a}) for a in ("text/csv", "*/*")]
    assert answers[0].headers["etag"] != answers[1].headers["etag"]
    assert {answer.headers["vary"] for answer in answers} == {"Accept"}


@pytest.mark.parametrize("format_", ["json", "csv"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_follows_links_through_all_rows(running: Collector, format_: str, limit: int) -> None:
    """The links lead through all rows once, in their order, and keep everything else asked for."""
    running.send(batch(report(), day=days_ago(1)))
    running.send(batch(report()))
    query = {"format": format_, "to": str(days_ago(1)), "alpha": "0.1"}
    url = "/v1/metrics/theme/estimates"
    expected = running.estimates(to=str(days_ago(1)), alpha=0.1)
    values: list[str] = []
    answer = running.client.get(url, params={**query, "limit": limit})
    while True:
        if format_ == "json":
            page = answer.json()
            assert (page["n"], page["row_count"], page["alpha"]) == (1, 3, 0.1)
            rows = page["rows"]
            assert rows == expected["rows"][len(values) : len(values) + limit]
        else:
            rows = list(csv.DictReader(io.StringIO(answer.text)))
        values += [row["value"] for row in rows]
        if "next" not in answer.links:
            break
        answer = running.client.get(url + answer.links["next"]["url"])
    assert values == ["light", "dark", "system"]
    assert "link" not in running.client.get(url, params=query).headers


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=x", "offset=-1", "limit=100001"])
def test_refuses_a_part_that_cannot_be(running: Collector, query: str) -> None:
    """A limit below 1 and an offset below 0 are 400; beyond the last row is an empty part."""
    url = "/v1/metrics/theme/estimates"
    assert running.client.get(f"{url}?{query}").status_code == 400
    assert running.estimates(offset=3)["rows"] == []
