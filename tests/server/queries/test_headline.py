"""One sentence that says the result: the same on page, API and command, and never too strong."""

import html
import re
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from tests.harness.collector import Collector
from tests.harness.filled_collector import PAGES

from rumor_server.queries.cache import Measured
from rumor_server.queries.comparison import Of, change_rows
from rumor_server.queries.headline import headline_of
from rumor_server.queries.question import Population, Question, Status
from rumor_server.queries.ranks import ranks_of
from rumor_server.queries.service import QueryService
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.statistics.tally import Tally
from rumor_shared.registry import parse_registry

REGISTRY = b"""
[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 2.0
values = ["light", "dark", "system", "sepia"]
owner = "a@example.org"
purpose = "headlines"
expires = 2026-12-31
"""
METRIC = parse_registry(REGISTRY).metrics["theme"]
QUESTION = Question((METRIC,), (), None, 0.05)


def measured(counts: list[int]) -> tuple[Measured, Tally]:
    """The answer to answers counted so."""
    tally = Tally(np.array([sum(counts)]), np.array([counts]))
    answer = estimate_metric(METRIC, tally)
    status = Status.OK if tally.n else Status.NO_DATA
    return Measured(status, tally.n, 0, (1,), answer, Population.DEVICES), tally


def said(counts: list[int], before: list[int] | None = None) -> str | None:
    """The sentence of answers counted so, and of a period before."""
    one, tally = measured(counts)
    changes = None if before is None else change_rows(measured(before)[0], one, Of.POPULATION)
    return headline_of(QUESTION, one, ranks_of(one, [(METRIC, tally)], 1), changes)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([900, 4000, 2500, 1900], "Of the devices that answered, dark leads: 54%, between "
         "52 and 56."),
        ([1000, 3000, 3010, 1000], "Of the devices that answered, no value is confirmed to lead: "
         "system or dark may be the commonest."),
        ([1000, 1000, 1010, 1000], "Of the devices that answered, no value is confirmed to lead: "
         "any of 4 values may be the commonest."),
        ([3, 4, 3, 2], r"Too few to say which leads: 12 reports; from about [\d,]+ all intervals "
         r"together are within 10 points\."),
    ],
)  # fmt: skip
def test_says_what_the_tests_confirm(counts: list[int], expected: str) -> None:
    """A leader with its simultaneous bounds, a tie by its names, or that there are too few."""
    assert re.fullmatch(expected, said(counts) or "")
    assert said([0, 0, 0, 0]) is None


def test_says_what_changed() -> None:
    """Names what rose and fell beyond chance, or says that nothing did."""
    counts = [900, 4000, 2500, 1900]
    same = said(counts, counts)
    assert same is not None
    assert same.endswith("; no value changed beyond chance.")
    moved = said(counts, [1900, 3000, 2500, 1900])
    assert moved is not None
    assert moved.endswith("; dark rose, light fell.")


def test_bounds_are_rounded_outwards() -> None:
    """No bound that is told lies within the interval that it tells."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        counts = rng.multinomial(int(rng.integers(500, 100_000)), [0.2, 0.5, 0.2, 0.1]).tolist()
        sentence = said(counts) or ""
        found = re.search(r"between ([\d.]+) and ([\d.]+)\.$", sentence)
        assert found is not None, sentence
        answer = measured(counts)[0].answer
        assert float(found[1]) <= 100 * answer.simultaneous_low[1] + 1e-6
        assert float(found[2]) >= 100 * answer.simultaneous_high[1] - 1e-6


def test_one_candidate_leads_nothing(running: Collector) -> None:
    """Of an open domain the leader is one of the candidates, and one text alone is just told."""
    service = QueryService(running.store)
    few = service.estimates(service.question("page", candidates=PAGES)).headline
    assert few is not None
    assert "among the candidates" in few
    one = service.estimates(service.question("page", candidates=PAGES[:1])).headline
    assert one is not None
    assert "leads" not in one
    assert one.startswith(f"Of the reports, {PAGES[0]} has ")


@pytest.mark.parametrize("name", ["theme", "habit", "rare", "quiet", "old"])
def test_says_the_same_everywhere(running: Collector, name: str) -> None:
    """API, page as JSON and as HTML, and nothing of what is withheld."""
    sentence = running.client.get(f"/v1/metrics/{name}/estimates").json()["headline"]
    page = running.client.get(f"/metric/{name}", params={"format": "json"}).json()
    shown = running.client.get(f"/metric/{name}", headers={"Accept": "text/html"}).text
    found = re.search(r'id="headline">(.*?)</p>', shown)
    assert page["headline"] == sentence
    assert (html.unescape(found[1]) if found else None) == sentence
    assert (sentence is None) == (page["status"] != "ok")


def test_a_withheld_answer_has_none(running: Collector) -> None:
    """Whatever ranks would say."""
    service = QueryService(running.store)
    question = service.question("rare")
    answer, ranked = service.ranked(question, date.min, date.max)
    assert ranked is None
    assert headline_of(question, replace(answer, n=10**6), ranked) is None
