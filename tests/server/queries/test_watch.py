"""A watch as every face tells it: from the first day on, refused where no bound holds."""

import csv
import io

import numpy as np
import pytest
from tests.harness.collector import Collector
from tests.harness.filled_collector import PAGES

from rumor_server.errors import BadRequest
from rumor_server.queries.service import QueryService
from rumor_server.queries.watch import WatchRow, watch_of
from rumor_server.reader.database import ask_database
from rumor_server.statistics.tally import Tally
from rumor_shared.registry import parse_registry

PATH = "/v1/metrics/{}/watch"


@pytest.mark.parametrize("name", ["theme", "rare", "quiet", "old"])
def test_gives_the_same_bounds_everywhere(running: Collector, name: str) -> None:
    """API as JSON and CSV, and the reader on the file; of reports, from the first day on."""
    page = running.client.get(PATH.format(name)).json()
    table = running.client.get(PATH.format(name), params={"format": "csv"}).text
    assert ask_database(running.database, name, {"alpha": 0.05}, None, "watch") == page
    read = list(csv.DictReader(io.StringIO(table)))
    assert [{field: row[field] for field in WatchRow.model_fields} for row in read] == [
        {field: str(x) for field, x in row.items()} for row in page["rows"]
    ]
    assert page["population"] == "reports"
    assert page["status"] in ("ok", "withheld", "no_data")
    assert bool(page["rows"]) == (page["status"] == "ok")
    if page["rows"]:
        assert page["rows"][-1]["n"] == page["n"]
        assert page["asymptotic"] is False


def test_watches_the_newest_revision_alone(running: Collector) -> None:
    """The last day's shares are those of all its reports; its bounds are the wider ones."""
    service = QueryService(running.store)
    question = service.question("theme")
    page = service.watch(question)
    newest = service.estimates(service.question("theme", revision=question.newest.revision))
    last = {row.value: row for row in page.rows if row.day == page.last_day}
    for row in newest.rows:
        assert row.possible_low is not None
        assert row.possible_high is not None
        assert last[row.value].frequency == pytest.approx(row.frequency)
        assert last[row.value].low < row.possible_low + 1e-9
        assert last[row.value].high > row.possible_high - 1e-9


def test_refuses_what_it_cannot_hold(running: Collector) -> None:
    """A memoised metric in words, a window and an unknown name by their statuses."""
    refused = running.client.get(PATH.format("habit"))
    assert refused.status_code == 400
    assert "repeat their noise" in refused.json()["detail"]
    service = QueryService(running.store)
    with pytest.raises(BadRequest, match="memoised"):
        service.watch(service.question("page", candidates=PAGES))
    for name, chosen in (("from", "2026-11-01"), ("to", "2026-11-01"), ("revision", "1")):
        assert running.client.get(PATH.format("theme"), params={name: chosen}).status_code == 400
    assert running.client.get(PATH.format("nothing")).status_code == 404


def test_what_a_regression_decodes_is_asymptotic() -> None:
    """Local hashing has bounds in the limit of many reports, and says so."""
    text = b"""
[metrics.word]
revision = 1
mechanism = "local_hashing"
epsilon = 2.0
cohorts = 16
values = ["a", "b", "c"]
owner = "a@example.org"
purpose = "a watch"
expires = 2026-12-31
"""
    metric = parse_registry(text).metrics["word"]
    rng = np.random.default_rng(3)
    cohorts, cells = metric.mechanism.cohorts, metric.mechanism.cells
    tallies = []
    for _ in range(3):
        counts = rng.multinomial(200, np.full(cells, 1 / cells), cohorts)
        tallies.append(Tally(counts.sum(axis=1), counts))
    tallies.insert(1, Tally.empty(metric.mechanism))
    told = watch_of(metric, tallies, None, 0.05)
    assert told.asymptotic
    assert (told.low <= told.high).all()
    assert told.reports.tolist() == [3200, 3200, 6400, 9600]
