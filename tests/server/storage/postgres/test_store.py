"""The store on PostgreSQL: what every store does, and what only a server can meet."""

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg import sql
from tests.harness.collector import TODAY, batch, registry, report
from tests.server.storage.store_contract import (
    THEME,
    Count,
    OpenStore,
    Remember,
    StoreContract,
    postgres_remember,
    screened,
    taken_back,
    together,
)

from benchmarks.postgres_server import Server
from rumor_server.errors import StoreError, StoreUnavailable, UnknownSchema
from rumor_server.storage.postgres.connection import STEPS, connect, upgrade, version
from rumor_server.storage.postgres.store import PostgresStore
from rumor_shared.wire import Verdict


@pytest.fixture
def url(postgres: Server) -> str:
    """The address of an upgraded database of a test's own."""
    made = postgres.make()
    assert upgrade(made) == (0, len(STEPS))
    return made


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    """A store that has adopted the registry of the tests."""
    with closing(PostgresStore(url, busy_seconds=0.5)) as opened:
        opened.declare(registry())
        yield opened


class TestPostgresStore(StoreContract):
    """What every store does, done by PostgreSQL."""

    @pytest.fixture
    def open_store(self, url: str) -> OpenStore:
        """Open the one database of a test, as another process would."""
        return lambda: PostgresStore(url, busy_seconds=30)

    @pytest.fixture
    def count(self, url: str) -> Count:
        """Count the rows of a table of that database."""

        def rows(table: str) -> int:
            with connect(url, 1) as connection:
                query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
                counted = connection.execute(query).fetchone()
            assert counted is not None
            return int(counted[0])

        return rows

    @pytest.fixture
    def remember(self, url: str) -> Remember:
        """Copy the rows of every table, and back."""
        return postgres_remember(url)


def test_refuses_a_database_that_was_not_upgraded(postgres: Server) -> None:
    """A store changes no schema: without `rumor db upgrade` it says so, and stays out."""
    made = postgres.make()
    with pytest.raises(UnknownSchema, match="rumor db upgrade"):
        PostgresStore(made)
    with connect(made, 1) as connection:
        assert version(connection) == 0


def test_refuses_a_version_it_does_not_know(url: str) -> None:
    """A database of a later version is left as it is, by the store and by the upgrade."""
    with connect(url, 1) as connection:
        connection.execute("INSERT INTO migrations VALUES (99)")
    for attempt in (PostgresStore, upgrade):
        with pytest.raises(UnknownSchema, match="schema version 99"):
            attempt(url)


def test_refuses_a_schema_of_another_program(postgres: Server) -> None:
    """A schema of our name that holds something else is not touched."""
    made = postgres.make()
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA rumor; CREATE TABLE rumor.ids (theirs int)")
    with pytest.raises(UnknownSchema, match="another program"):
        upgrade(made)


def test_upgrades_all_or_nothing(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that fails leaves nothing of itself, and can be run again once it is mended."""
    made = postgres.make()
    with monkeypatch.context() as patch:
        broken = (*STEPS, "CREATE TABLE more (x int); SELECT 1 / 0;")
        patch.setattr("rumor_server.storage.postgres.connection.STEPS", broken)
        with pytest.raises(StoreError, match="can't be upgraded"):
            upgrade(made)
    with connect(made, 1) as connection:
        assert version(connection) == len(STEPS)
        assert connection.execute("SELECT to_regclass('more')").fetchone() == (None,)
    assert upgrade(made) == (len(STEPS), len(STEPS))


def test_upgrades_once_from_many(postgres: Server) -> None:
    """Nodes that upgrade at the same time run each step once."""
    made = postgres.make()
    outcomes: list[int] = []
    together([lambda: outcomes.append(upgrade(made, 30)[1])] * 4)
    assert outcomes == [len(STEPS)] * 4


def test_hides_the_password_of_its_address() -> None:
    """A server that can't be reached is named by the kind of fault alone."""
    with pytest.raises(StoreUnavailable) as caught:
        PostgresStore("postgresql://someone:SECRET123@127.0.0.1:1/rumor")
    assert "SECRET123" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_waits_no_longer_than_it_may(store: PostgresStore, url: str) -> None:
    """A commit that finds the database locked for too long is unavailable, and the next is not."""
    sent = screened(batch(report()))
    with connect(url, 1) as other, other.transaction():
        other.execute("LOCK TABLE ids IN EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable):
            store.commit([sent])
    assert store.commit([sent])[0][0].verdict is Verdict.ACCEPTED


def test_connects_again_after_a_fault(store: PostgresStore, url: str) -> None:
    """Connections that the server ended are 503 for one commit at most, and nothing is lost."""
    store.commit([screened(batch(report()))])
    store.check()
    with connect(url, 1) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    sent = screened(batch(report()))
    with pytest.raises(StoreUnavailable):
        store.commit([sent])
    assert store.commit([sent])[0][0].verdict is Verdict.ACCEPTED
    assert store.tally(THEME, TODAY, TODAY).n == 2


def test_lends_no_connection_for_good(url: str) -> None:
    """DB-04: after 100 reads at once through four connections, the pool has all of them again."""
    with closing(PostgresStore(url, busy_seconds=60)) as store:
        together([lambda: store.days("theme")] * 100)
        # The pool takes back, and opens, connections on threads of its own.
        deadline = time.monotonic() + 60
        while True:
            statistics = store._pool.get_stats()
            if statistics["pool_available"] == statistics["pool_size"]:
                break
            assert time.monotonic() < deadline, statistics
            time.sleep(0.01)
        assert statistics.get("requests_waiting", 0) == 0
        assert statistics["pool_size"] <= 4


def test_folds_deltas_of_many_commits(store: PostgresStore, url: str) -> None:
    """Compaction leaves one row a tally chunk; a retraction beside it is folded like the rest."""
    sent = [batch(report()) for _ in range(30)]
    for document in sent:
        store.commit([screened(document)])
    store.retract([taken_back(sent[0])])
    assert store.compact() == 31
    with connect(url, 1) as connection:
        assert connection.execute("SELECT count(*) FROM deltas").fetchone() == (0,)
        assert connection.execute("SELECT count(*), sum(reports) FROM tallies").fetchone() == (
            1,
            29,
        )


def test_has_a_database_that_waits_for_the_disk(store: PostgresStore) -> None:
    """The server under test syncs, and every commit of ours waits for it."""
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        row = store._connection.execute(f"SHOW {name}".encode()).fetchone()
        assert row == ("on",)


def test_reads_again_soon_after_an_outage(store: PostgresStore) -> None:
    """The pool's own tries end within seconds, so that none of its pauses outlasts an outage."""
    assert store._pool.reconnect_timeout < 5
