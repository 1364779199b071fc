"""Random histories of a collector on each database: nothing counted twice, nothing lost.

`RUMOR_HISTORIES` is how many histories are played on each; thousands take half an hour.
"""

import os
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.harness.collector_history import STEPS, History, Step
from tests.harness.history_databases import Database, File, Tables
from tests.harness.reproductions import COLLECTOR

from benchmarks.postgres_server import Server, binaries
from rumor_server.storage.postgres import statements as postgres_statements
from rumor_server.storage.postgres.connection import upgrade
from rumor_server.storage.postgres.store import PostgresStore
from rumor_server.storage.sqlite import statements as sqlite_statements
from rumor_server.storage.sqlite.store import SqliteStore

HISTORIES = int(os.environ.get("RUMOR_HISTORIES", "32"))
# A history takes tenths of a second; a slow disk gets ten times that.
SECONDS = 300 + 5 * HISTORIES
STEP: st.SearchStrategy[Step] = st.tuples(
    st.sampled_from(STEPS), st.integers(0, 63), st.integers(0, 63), st.integers(0, 5)
)
HISTORY = st.lists(STEP, min_size=5, max_size=40)
played = settings(
    max_examples=HISTORIES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A SQLite database for one history after the other."""
    return File(tmp_path_factory.mktemp("histories"))


@pytest.fixture(scope="module")
def tables(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A PostgreSQL database for one history after the other, and PostgreSQL's programs."""
    url = postgres.make()
    upgrade(url)
    found = f"{binaries()}{os.pathsep}{os.environ['PATH']}"
    with patch.dict(os.environ, PATH=found):
        yield Tables(url, tmp_path_factory.mktemp("histories"))


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
@played
@given(steps=HISTORY)
def test_keeps_every_promise_on_sqlite(file: Database, steps: list[Step]) -> None:
    """Whatever happens in whatever order: each report counts once if acknowledged, else at most."""
    History(file).play(steps)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
@played
@given(steps=HISTORY)
def test_keeps_every_promise_on_postgres(tables: Database, steps: list[Step]) -> None:
    """The same on PostgreSQL, where nodes commit side by side and deltas are compacted."""
    History(tables).play(steps)


@pytest.mark.parametrize("database", ["file", "tables"])
@pytest.mark.parametrize("name", COLLECTOR)
def test_keeps_what_once_failed(name: str, database: str, request: pytest.FixtureRequest) -> None:
    """Each history that ever failed keeps every promise now."""
    History(request.getfixturevalue(database)).play(COLLECTOR[name])


@pytest.mark.parametrize("database", ["file", "tables"])
def test_sees_a_report_that_counts_twice(database: str, request: pytest.FixtureRequest) -> None:
    """The simulation finds a planted fault: a store that writes each tally twice."""
    played = request.getfixturevalue(database)
    module, name = (
        (sqlite_statements, "add_tallies")
        if database == "file"
        else (postgres_statements, "append_deltas")
    )
    work: Callable[..., None] = getattr(module, name)

    def twice(connection: Any, rows: Any) -> None:
        kept = list(rows)
        work(connection, kept)
        work(connection, kept)

    with patch.object(module, name, twice), pytest.raises(AssertionError, match="counts 2 times"):
        History(played).play(COLLECTOR["a tally that was written twice"])


@pytest.mark.parametrize("database", ["file", "tables"])
def test_sees_a_report_that_was_lost(database: str, request: pytest.FixtureRequest) -> None:
    """The simulation finds a planted fault: a store that answers and does not write."""
    played = request.getfixturevalue(database)
    module, name = (
        (sqlite_statements, "add_tallies")
        if database == "file"
        else (postgres_statements, "append_deltas")
    )
    with (
        patch.object(module, name, lambda *_: None),
        pytest.raises(AssertionError, match="acknowledged and does not count"),
    ):
        History(played).play(COLLECTOR["a tally that was not written"])


@pytest.mark.parametrize("database", ["file", "tables"])
def test_sees_a_retraction_that_a_restore_undid(
    database: str, request: pytest.FixtureRequest
) -> None:
    """The simulation finds a planted fault: a restore that replays no receipts."""
    played = request.getfixturevalue(database)
    store = SqliteStore if database == "file" else PostgresStore
    with (
        patch.object(store, "replay", lambda *_: 0),
        pytest.raises(AssertionError, match="though taken back"),
    ):
        History(played).play(COLLECTOR["a retraction that a restore undid"])


@pytest.mark.parametrize("database", ["file", "tables"])
def test_sees_a_restore_that_opens_days(database: str, request: pytest.FixtureRequest) -> None:
    """The simulation finds a planted fault: a restore that closes no day without being told to."""
    played = request.getfixturevalue(database)
    store = SqliteStore if database == "file" else PostgresStore
    with (
        patch.object(store, "close_days", lambda *_: date.min),
        pytest.raises(AssertionError, match="closed day was taken"),
    ):
        History(played).play(COLLECTOR["a day that a restore opened"])


@pytest.mark.parametrize("fault", ["erase", "forget_closed"])
def test_sees_a_closed_day_in_the_files(file: Database, fault: str) -> None:
    """C-04: the simulation finds planted faults: nothing emptied, or ids that are not deleted."""
    old = [("send", 0, device, 2) for device in range(9)]
    history = [*old, *[("day", 0, 0, 0)] * 9, ("close", 0, 4, 5)]
    History(file).play(history)

    with (
        patch.object(SqliteStore, fault, lambda *_: fault == "erase"),
        pytest.raises(AssertionError, match="still in the files"),
    ):
        History(file).play(history)
