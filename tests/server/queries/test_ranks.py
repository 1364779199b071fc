"""Ranks with confidence as every face tells them: the same numbers, and nothing withheld."""

import csv
import io
from typing import Any

import numpy as np
import pytest
from tests.harness.collector import TODAY, Collector, days_ago
from tests.harness.filled_collector import PAGES

from rumor_server.analyst import read_ranks
from rumor_server.queries.question import Status
from rumor_server.queries.ranks import RankMethod, RankRow, RanksPage
from rumor_server.queries.service import QueryService
from rumor_server.reader.database import ask_database
from rumor_server.statistics.estimation.contrasts import pairwise_p_values
from rumor_server.statistics.estimation.ranks import simultaneous_ranks
from rumor_server.statistics.mechanisms.answers import pairs_of
from rumor_shared.registry import parse_registry
from rumor_simulations.mechanisms import population_tally
from rumor_simulations.population import PopulationCounts

PATH = "/v1/metrics/{}/ranks"


@pytest.mark.parametrize(
    ("name", "asked", "candidates"),
    [
        ("theme", {}, None),
        ("theme", {"revision": 1, "alpha": 0.2}, None),
        ("theme", {"from": str(days_ago(1)), "to": str(TODAY)}, None),
        ("page", {}, PAGES),
        ("page", {}, None),
        ("habit", {}, None),
        ("rare", {}, None),
        ("quiet", {}, None),
        ("old", {"alpha": 0.1}, None),
    ],
)
def test_gives_the_same_ranks_everywhere(
    running: Collector, name: str, asked: dict[str, Any], candidates: list[str] | None
) -> None:
    """API as JSON and CSV, the reader on the file and its frame: every number of a row."""
    params = {**asked, "candidate": candidates or []}
    page = running.client.get(PATH.format(name), params=params).json()
    table = running.client.get(PATH.format(name), params=params | {"format": "csv"}).text
    given = {"alpha": 0.05, **asked}
    assert ask_database(running.database, name, given, candidates, "ranks") == page
    RanksPage.model_validate(page)
    read = list(csv.DictReader(io.StringIO(table)))
    assert [{field: row[field] for field in RankRow.model_fields} for row in read] == [
        {field: "" if x is None else str(x) for field, x in row.items()} for row in page["rows"]
    ]
    named = {"from": "first", "to": "last"}
    frame = read_ranks(
        running.database,
        name,
        candidates=candidates,
        **{named.get(word, word): x for word, x in asked.items()},
    )
    rows = page.pop("rows")
    assert frame.attrs == page
    assert frame["best_rank"].tolist() == [row["best_rank"] for row in rows] or not all(
        row["best_rank"] for row in rows
    )
    estimates = running.client.get(f"/v1/metrics/{name}/estimates", params=params).json()
    for field in ("status", "n", "missing", "first_day", "last_day", "population", "left_out"):
        assert estimates[field] == page[field]
    shares = {row["value"]: row["frequency"] for row in estimates["rows"]}
    assert {row["value"]: row["frequency"] for row in rows} == shares


def test_tells_nothing_of_what_is_withheld(running: Collector) -> None:
    """Below its minimum a metric has no rank, no method and no share."""
    page = running.client.get(PATH.format("rare")).json()
    assert (page["status"], page["method"]) == (Status.WITHHELD, None)
    for row in page["rows"]:
        assert {row[field] for field in row.keys() - {"value", "n"}} == {None}


def test_tests_pairs_where_it_can(running: Collector) -> None:
    """One revision of krr is ranked by pairs; several, and what a regression decodes, are not."""
    service = QueryService(running.store)
    one = service.ranks(service.question("theme", revision=1))
    assert one.method is RankMethod.PAIRS
    page = service.ranks(service.question("page", candidates=PAGES))
    assert page.method is RankMethod.INTERVALS
    # Memoised: a device's noise is in all of its reports, and no count has a known law.
    habit = service.ranks(service.question("habit"))
    assert habit.method is RankMethod.INTERVALS


def test_answers_conditionally_in_parts_and_names_what_is_wrong(running: Collector) -> None:
    """Entity tag, links, negotiation and errors are as those of estimates."""
    client, path = running.client, PATH.format("theme")
    tag = client.get(path).headers["etag"]
    assert client.get(path, headers={"If-None-Match": tag}).status_code == 304
    part = client.get(path, params={"limit": 2})
    assert len(part.json()["rows"]) == 2
    assert 'rel="next"' in part.headers["link"]
    assert (
        client.get(path, headers={"Accept": "text/csv"})
        .headers["content-type"]
        .startswith("text/csv")
    )
    assert client.get(path, params={"fakes": 0.1}).status_code == 400
    assert client.get(path, params={"alpha": [0.1, 0.2]}).status_code == 400
    assert client.get(path, params={"from": str(TODAY), "to": "2020-01-01"}).status_code == 400
    assert client.get(PATH.format("nothing")).status_code == 404


_METRIC = """
[metrics.{name}]
revision = 1
mechanism = "{name}"
epsilon = 3.0
{values}
owner = "a@example.org"
purpose = "ranks"
expires = 2026-12-31
"""
_PURE = ("krr", "sue", "oue", "subset", "hadamard", "pgr", "binary")


@pytest.mark.parametrize("name", _PURE)
def test_every_pure_mechanism_ranks_what_its_devices_have(name: str) -> None:
    """Of 40,000 devices three in four have one value: it leads, the other is second, none lie."""
    metric = parse_registry(_METRIC.format(name=name, values=_values(name)).encode()).metrics[name]
    values = metric.mechanism.values
    assert values is not None
    population = PopulationCounts.of({values[1]: 30_000, values[0]: 10_000})
    tally = population_tally(metric, population, np.random.default_rng(7))
    pairs = pairs_of(metric, tally)
    assert pairs is not None
    p_value = pairwise_p_values(pairs.counts, tally.n, pairs.law, alpha=1e-6)
    ranks = simultaneous_ranks(p_value, 1e-6)
    assert ranks.leader == 1
    assert ranks.best[0] == ranks.worst[0] == 2


def _values(name: str) -> str:
    return "" if name == "binary" else 'values = ["a", "b", "c", "d", "e"]'
