"""Random histories of a collector on each database: nothing counted twice, nothing lost.

`RUMOR_HISTORIES` is how many histories are played on each; thousands take minutes.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.history import STEPS, Database, History, Step
from tests.server.postgres_server import Server
from tests.server.store_contract import postgres_remember, sqlite_remember

from rumor_server.storage import postgres_store, sqlite_store
from rumor_server.storage.postgres_connection import upgrade
from rumor_server.storage.postgres_store import PostgresStore
from rumor_server.storage.sqlite_store import SqliteStore
from rumor_server.storage.store import Store

HISTORIES = int(os.environ.get("RUMOR_HISTORIES", "60"))
STEP: st.SearchStrategy[Step] = st.tuples(
    st.sampled_from(STEPS), st.integers(0, 63), st.integers(0, 63), st.integers(0, 5)
)
HISTORY = st.lists(STEP, min_size=5, max_size=40)
played = settings(
    max_examples=HISTORIES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class File(Database):
    """A SQLite file that does not wait for the disk: these crashes are not the machine's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        SqliteStore(path).close()
        self.remember = sqlite_remember(path)
        self._nothing = self.remember()

    def open(self) -> Store:
        """Open the file once more."""
        store = SqliteStore(self._path, busy_seconds=30)
        store._connection.execute("PRAGMA synchronous = OFF")
        return store

    def empty(self) -> None:
        """Restore the emptiness that was there at first."""
        self._nothing()

    def fault(self) -> AbstractContextManager[None]:
        """Fail once everything is written and before it is committed."""
        return failing(sqlite_store, "add_tallies", sqlite3.OperationalError("disk I/O error"))


class Tables(Database):
    """A PostgreSQL database whose sessions do not wait for the disk, for the same reason."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.remember = postgres_remember(url)
        self._nothing = self.remember()

    def open(self) -> Store:
        """Connect once more."""
        store = PostgresStore(self._url, busy_seconds=30)
        store._connection.execute("SET synchronous_commit = off")
        return store

    def empty(self) -> None:
        """Restore the emptiness that was there at first."""
        self._nothing()

    def fault(self) -> AbstractContextManager[None]:
        """Fail once everything is written and before it is committed."""
        return failing(postgres_store, "append_deltas", psycopg.OperationalError("connection lost"))


@contextmanager
def failing(module: Any, name: str, error: Exception) -> Iterator[None]:
    """Have a function of a module do its work, then fail."""
    work: Callable[..., None] = getattr(module, name)

    def fail(*arguments: Any) -> None:
        work(*arguments)
        raise error

    with patch.object(module, name, fail):
        yield


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A SQLite database for one history after the other."""
    return File(tmp_path_factory.mktemp("histories") / "rumor.sqlite3")


@pytest.fixture(scope="module")
def tables(postgres: Server) -> Database:
    """A PostgreSQL database for one history after the other."""
    url = postgres.make()
    upgrade(url)
    return Tables(url)


@played
@given(steps=HISTORY)
def test_keeps_every_promise_on_sqlite(file: Database, steps: list[Step]) -> None:
    """Whatever happens in whatever order: each report counts once if acknowledged, else at most."""
    History(file).play(steps)


@played
@given(steps=HISTORY)
def test_keeps_every_promise_on_postgres(tables: Database, steps: list[Step]) -> None:
    """The same on PostgreSQL, where nodes commit side by side and deltas are compacted."""
    History(tables).play(steps)


LONG: list[Step] = [
    *[("send", number, number * 7, 2) for number in range(12)],
    ("backup", 0, 0, 0),
    *[("retract", 1, number, 2) for number in range(8)],
    *[("replay", 1, number, 2) for number in range(8)],
    ("restore", 0, 0, 0),
]


@pytest.mark.parametrize("database", ["file", "tables"])
def test_sees_a_report_that_counts_twice(database: str, request: pytest.FixtureRequest) -> None:
    """The simulation finds a planted fault: a store that writes each tally twice."""
    played = request.getfixturevalue(database)
    module, name = (
        (sqlite_store, "add_tallies") if database == "file" else (postgres_store, "append_deltas")
    )
    work: Callable[..., None] = getattr(module, name)

    def twice(connection: Any, rows: Any) -> None:
        kept = list(rows)
        work(connection, kept)
        work(connection, kept)

    with patch.object(module, name, twice), pytest.raises(AssertionError, match="counts 2 times"):
        History(played).play(LONG[:12])


@pytest.mark.parametrize("database", ["file", "tables"])
def test_sees_a_report_that_was_lost(database: str, request: pytest.FixtureRequest) -> None:
    """The simulation finds a planted fault: a store that answers and does not write."""
    played = request.getfixturevalue(database)
    module, name = (
        (sqlite_store, "add_tallies") if database == "file" else (postgres_store, "append_deltas")
    )
    with (
        patch.object(module, name, lambda *_: None),
        pytest.raises(AssertionError, match="acknowledged and does not count"),
    ):
        History(played).play(LONG[:12])


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
        History(played).play(LONG)
    History(played).play(LONG)
