"""The operator's tables mean the same on SQLite and on PostgreSQL."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from tests.harness.collector import TODAY, batch, compact, registry, report

from rumor_server.access import Scope
from rumor_server.errors import TooManyRequests
from rumor_server.http.quota import KeyQuotas
from rumor_server.ingestion.batch import decode_batch
from rumor_server.ingestion.screening import Charges, screen_batch
from rumor_server.operations.keyring import create_key, find_key, revoke_key
from rumor_server.settings import Settings
from rumor_server.statistics.authenticity.report_weights import WeightCounts
from rumor_server.storage.figures import read_figures
from rumor_server.storage.keys import KEPT_WINDOWS, Key, lease, list_keys, note_use
from rumor_server.storage.open_store import open_store
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.registry_in_force import in_force, put_in_force
from rumor_server.storage.report_weights import ReportWeights, read_weights
from rumor_shared.wire import JSON


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """The settings of a new database of each kind, with the store's schema in it."""
    if request.param == "sqlite":
        return Settings(database=tmp_path / "rumor.sqlite3")
    from rumor_server.storage.postgres.connection import upgrade

    url = request.getfixturevalue("postgres").make()
    upgrade(url)
    return Settings(database=tmp_path / "rumor.sqlite3", database_url=url)


@pytest.fixture
def control(settings: Settings) -> Iterator[Control]:
    """The operator's tables."""
    with closing(open_store(settings)) as store:
        store.declare(registry())
        with closing(Control(settings)) as opened:
            yield opened


def test_keeps_keys(control: Control, settings: Settings) -> None:
    """A key is made, found, used and revoked, and another process sees it."""
    given = create_key(control, "app", Scope.INGEST, TODAY, expires=TODAY, day_reports=5)
    with closing(Control(settings)) as other:
        (key,) = list_keys(other)
        assert find_key({key.id: key}, given) is key
        assert (key.expires, key.day_reports, key.revoked) == (TODAY, 5, None)
        note_use(other, {key.id}, TODAY)
        revoke_key(other, "app", TODAY)
    (key,) = list_keys(control)
    assert (key.last_used, key.revoked) == (TODAY, TODAY)


def test_keeps_the_registry_in_force(control: Control) -> None:
    """The one adopted last is in force."""
    assert in_force(control) is None
    for sha256 in ("a", "b", "a"):
        put_in_force(control, sha256)
        assert in_force(control) == sha256


def test_adds_weights(control: Control) -> None:
    """Two processes' weights of a day add up; a span has those of its days."""
    metric = registry().metric("page")
    noted = ((0, WeightCounts(3, 1, 0)), (0, WeightCounts(4, 0, 2)), (1, WeightCounts(5)))
    for ago, counts in noted:
        weights = ReportWeights(control)
        weights._seen[metric.name, metric.revision, TODAY - timedelta(days=ago)] = counts
        weights.write()
        weights.write()
    assert read_weights(control, metric, TODAY, TODAY) == WeightCounts(7, 1, 2)
    yesterday = TODAY - timedelta(days=1)
    assert read_weights(control, metric, yesterday, TODAY) == WeightCounts(12, 1, 2)
    assert read_weights(control, registry().metric("theme"), yesterday, TODAY) == WeightCounts()


def test_reads_figures(control: Control, settings: Settings) -> None:
    """What was counted is told at once and exactly, folded or not, and so are the days."""
    with closing(open_store(settings)) as store:
        store.declare(registry())
        for ago in (0, 2):
            day = TODAY - timedelta(days=ago)
            sent = decode_batch(compact(batch(report(), report(), day=day)), JSON)
            store.commit([screen_batch(sent, Charges(registry()), TODAY, 7)])
        for _ in range(2):
            figures = read_figures(control)
            assert figures.counted == {("theme", 1): 4}
            assert (figures.oldest_kept, figures.newest_day) == (TODAY - timedelta(days=2), TODAY)
            store.compact()
        store.close_days(TODAY - timedelta(days=1))
        while store.forget_closed(1000):
            pass
        figures = read_figures(control)
        assert (figures.closed_through, figures.oldest_kept) == (TODAY - timedelta(days=1), TODAY)
        assert figures.counted == {("theme", 1): 4}


def test_reads_figures_of_an_empty_database(control: Control) -> None:
    """Before anything was counted there is nothing, in either database's own days."""
    figures = read_figures(control)
    assert (figures.counted, figures.closed_through) == ({}, None)
    assert (figures.oldest_kept, figures.newest_day) == (None, None)


def limited(control: Control, day_reports: int, minute_requests: int = 0) -> Key:
    """A new key with these limits."""
    create_key(
        control,
        "app",
        Scope.INGEST,
        TODAY,
        day_reports=day_reports,
        minute_requests=minute_requests,
    )
    return list_keys(control)[0]


async def take(limits: KeyQuotas, key: Key, times: int, amount: int = 1) -> int:
    """Take an amount of a day's reports so many times; return how often it was granted."""
    granted = 0
    for _ in range(times):
        try:
            await limits.take_reports(key, amount)
            granted += 1
        except TooManyRequests:
            pass
    return granted


@pytest.mark.parametrize("limit", [1, 10, 100])
def test_grants_a_limit_exactly(control: Control, settings: Settings, limit: int) -> None:
    """CO-01, CO-02: four processes in parallel, each asking for all, get exactly the limit."""
    key = limited(control, day_reports=limit)

    def process(_: int) -> int:
        with closing(Control(settings)) as own:
            limits = KeyQuotas(own, lambda: TODAY)
            # Their shares end at different times; whoever comes last finds what was given back.
            granted = asyncio.run(take(limits, key, limit))
            limits.close()
            return granted

    with ThreadPoolExecutor(4) as threads:
        granted = sum(threads.map(process, range(4)))
    assert granted <= limit
    assert granted + process(0) == limit
    assert process(0) == 0


def test_renews_a_limit_with_its_window(control: Control) -> None:
    """A new day and a new minute grant the limit again; long past ones leave no row behind."""
    key = limited(control, day_reports=3, minute_requests=2)
    day, now = TODAY, 0.0
    limits = KeyQuotas(control, lambda: day, lambda: now)
    waits: set[int] = set()

    async def requests(times: int) -> int:
        granted = 0
        for _ in range(times):
            try:
                await limits.take_request(key)
                granted += 1
            except TooManyRequests as error:
                waits.add(error.retry_after)
        return granted

    async def play() -> None:
        nonlocal day, now
        assert await take(limits, key, 9) == 3
        assert await requests(9) == 2
        now = 59.0
        assert await requests(9) == 0
        now, day = 60.0, TODAY + timedelta(days=1)
        assert await requests(9) == 2
        assert await take(limits, key, 9) == 3

    asyncio.run(play())
    assert waits == {60, 1}
    for later in range(KEPT_WINDOWS):
        lease(control, key.id, "reports", day.toordinal() + later, 3, 1)
        lease(control, key.id, "requests", 1 + later, 2, 1)
    limits.forget_past()
    with control.transaction() as statements:
        rows = statements.rows("SELECT kind, min(minute_or_day) FROM control_leases GROUP BY kind")
    assert sorted(rows) == [("reports", day.toordinal()), ("requests", 1)]


@pytest.mark.parametrize("steps", [(1,), (40,), (-1,), (-40, 40), (1, 0, 2, 0, 3650)])
def test_a_clock_that_steps_grants_a_day_once(control: Control, steps: tuple[int, ...]) -> None:
    """C-15: forth and back, as often as it likes, a day's limit is handed out once."""
    key = limited(control, day_reports=3)
    day = TODAY
    limits = KeyQuotas(control, lambda: day)
    assert asyncio.run(take(limits, key, 9)) == 3
    for step in steps:
        day = TODAY + timedelta(days=step)
        asyncio.run(take(limits, key, 1))
        limits.forget_past()
        day = TODAY
        limits.forget_past()
        assert asyncio.run(take(limits, key, 9)) == 0


def test_takes_a_batch_whole_or_not(control: Control) -> None:
    """A batch that passes what is left takes nothing, and a smaller one is still granted."""
    key = limited(control, day_reports=10)
    limits = KeyQuotas(control, lambda: TODAY)

    async def play() -> list[int]:
        return [await take(limits, key, 1, amount) for amount in (7, 4, 3, 1)]

    assert asyncio.run(play()) == [1, 0, 1, 0]
