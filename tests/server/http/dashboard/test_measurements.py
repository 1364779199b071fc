"""The dashboard's numbers are the API's, and nothing that is withheld gets past."""

from datetime import date
from typing import Any

import pytest
from tests.harness.collector import TODAY, Collector, days_ago
from tests.harness.filled_collector import PAGES

import rumor_server.queries.cache as module
from rumor_server.queries.cache import Measured, Measurements, ask
from rumor_server.queries.candidate_lists import CandidateList
from rumor_server.queries.service import Status, release
from rumor_server.statistics.mechanisms import estimate_metric

PERIODS = [
    (date(2020, 1, 1), date(2030, 1, 1)),
    (days_ago(1), TODAY),
    (days_ago(5), days_ago(4)),
    (date(2020, 1, 1), date(2020, 1, 2)),
]


def measure(
    running: Collector, name: str, period: tuple[date, date], **query: Any
) -> tuple[Measured, Any]:
    """What the dashboard and the API say of the same days."""
    texts = query.pop("candidates", None)
    question = ask(
        running.store.revisions(name),
        name,
        candidates=texts and CandidateList(tuple(texts)),
        **query,
    )
    first, last = period
    page = release(running.store, name, first=first, last=last, candidates=texts, **query)
    return Measurements(running.store).measure(question, first, last), page


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
def test_agrees_with_the_api(
    running: Collector, name: str, query: dict[str, Any], period: tuple[date, date]
) -> None:
    """Every number of every row is the one that `release` gives, and so is every null."""
    measured, page = measure(running, name, period, **query)
    assert (measured.status, measured.n, measured.missing) == (page.status, page.n, page.missing)
    estimates = measured.estimates
    assert list(estimates.values) == [row.value for row in page.rows]
    assert estimates.unexplained == page.unexplained
    for column in ("frequency", "std_error", "low", "high", "simultaneous_low", "p_value"):
        said = [getattr(row, column) for row in page.rows]
        if page.status is Status.OK:
            assert getattr(estimates, column).tolist() == said
        else:
            assert set(said) <= {None}
            assert not getattr(estimates, column).size


def test_holds_no_number_of_what_is_withheld(running: Collector) -> None:
    """A metric below its minimum has a count of reports and nothing else."""
    measured, _ = measure(running, "rare", PERIODS[0], alpha=0.05)
    assert (measured.status, measured.n, measured.missing) == (Status.WITHHELD, 137, 863)
    assert not measured.estimates.frequency.size
    assert measured.estimates.unexplained is None


def test_estimates_once(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tallies are estimated once, whatever the period is called; other ones anew."""
    calls = []

    def counting(*args: Any, **more: Any) -> Any:
        calls.append(args[0].name)
        return estimate_metric(*args, **more)

    monkeypatch.setattr(module, "estimate_metric", counting)
    measurements = Measurements(running.store)
    question = ask(running.store.revisions("quiet"), "quiet", alpha=0.05)
    for _ in range(3):
        measurements.measure(question, *PERIODS[0])
    assert calls == ["quiet"]
    theme = ask(running.store.revisions("theme"), "theme", alpha=0.05)
    one = measurements.measure(theme, days_ago(1), days_ago(1))
    assert measurements.measure(theme, days_ago(1), days_ago(1)) is one
    assert measurements.measure(theme, TODAY, TODAY) is not one
    other = ask(running.store.revisions("theme"), "theme", alpha=0.01)
    assert measurements.measure(other, days_ago(1), days_ago(1)) is not one


def test_forgets_the_oldest(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded by its rows."""
    monkeypatch.setattr(module, "_KEPT_ROWS", 13)
    measurements = Measurements(running.store)
    question = ask(running.store.revisions("theme"), "theme", alpha=0.05)
    first = measurements.measure(question, TODAY, TODAY)
    for ago in (1, 2):
        measurements.measure(question, days_ago(ago), days_ago(ago))
    assert measurements.measure(question, TODAY, TODAY) is not first
