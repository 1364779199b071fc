"""Nodes are replaced one by one: those of 0.1 work on an expanded schema beside those of today."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.harness.collector import TODAY, batch, registry, report
from tests.server.storage.store_contract import screened

from benchmarks.postgres_server import Server
from rumor_server.cli import db
from rumor_server.errors import UnknownSchema
from rumor_server.settings import Settings
from rumor_server.storage.migrations import EXPANDED
from rumor_server.storage.open_store import open_store
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.postgres.connection import STEPS, Connection, connect, upgrade
from rumor_server.storage.postgres.store import PostgresStore
from rumor_server.storage.registry_in_force import in_force, put_in_force
from rumor_shared.wire import Verdict

# Word for word what 0.1 sends of spend.
OLD_READ = (
    "SELECT day, account, micro, reports FROM spend WHERE (day, account) IN "
    "(SELECT * FROM unnest(%b::date[], %b::bytea[])) ORDER BY day, account FOR UPDATE"
)
OLD_INSERT = (
    "INSERT INTO spend SELECT * FROM "
    "unnest(%b::date[], %b::bytea[], %b::int8[], %b::int4[]) ON CONFLICT DO NOTHING"
)
OLD_ADD = (
    "UPDATE spend SET micro = spend.micro + added.micro, "
    "reports = spend.reports + added.reports "
    "FROM unnest(%b::date[], %b::bytea[], %b::int8[], %b::int4[]) "
    "AS added (day, account, micro, reports) "
    "WHERE (spend.day, spend.account) = (added.day, added.account)"
)


@pytest.fixture
def url(postgres: Server) -> str:
    """A database that was expanded and not contracted."""
    made = postgres.make()
    assert upgrade(made, expand=True) == (0, EXPANDED)
    return made


def charge_as_0_1(connection: Connection, account: bytes, micro: int) -> int:
    """Charge an account as a node of 0.1 does; return how many rows it wrote."""
    found = connection.execute(OLD_READ, ([TODAY], [account])).fetchone()
    row = ([TODAY], [account], [micro], [1])
    # 0.1 takes an account of no report for one that isn't there.
    return connection.execute(OLD_ADD if found and found[3] else OLD_INSERT, row).rowcount


def test_old_and_new_nodes_charge_the_same_accounts(url: str) -> None:
    """What either charges the other finds, new or known, and a cap holds over both."""
    with (
        closing(PostgresStore(url)) as store,
        connect(url, 1) as old,
    ):
        store.declare(registry())
        assert charge_as_0_1(old, b"of 0.1", 1) == 1
        one = b"a" * 16
        for _ in range(9):
            ((result,),) = store.commit([screened(batch(report(), pseudonym=one))])
            assert result.verdict is Verdict.ACCEPTED
        accounts = [row[0] for row in old.execute("SELECT account FROM spend WHERE micro > 1")]
        for account in accounts:
            assert charge_as_0_1(old, account, 1_000_000) == 1
        ((result,),) = store.commit([screened(batch(report(), pseudonym=one))])
        assert result.verdict is Verdict.REJECTED


def test_the_last_step_waits_for_the_last_old_node(url: str) -> None:
    """A new node serves the schema before and after it is contracted, also while that happens."""
    settings = Settings(database_url=url)
    with closing(open_store(settings)) as store, closing(Control(settings)) as control:
        store.declare(registry())
        put_in_force(control, "a")
        assert store.commit([screened(batch(report()))])[0][0].verdict is Verdict.ACCEPTED
        assert upgrade(url) == (EXPANDED, len(STEPS))
        assert store.commit([screened(batch(report()))])[0][0].verdict is Verdict.ACCEPTED
        assert in_force(control) == "a"
    with closing(open_store(settings)) as store, connect(url, 1) as old:
        with pytest.raises(Exception, match="reports"):
            charge_as_0_1(old, b"of 0.1", 1)
        store.declare(registry())
        assert store.tally(registry().metric("theme"), TODAY, TODAY).n == 2


def test_serves_nothing_older_than_expanded(postgres: Server) -> None:
    """A database of 0.1 that nobody expanded is refused with advice, and not touched."""
    made = postgres.make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rumor_server.storage.postgres.connection.STEPS", STEPS[:1])
        upgrade(made)
    with pytest.raises(UnknownSchema, match="run `rumor db upgrade`"):
        PostgresStore(made)


def test_a_file_is_not_expanded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A SQLite file is upgraded with its collector stopped: --expand says so."""
    assert db.main(["upgrade", "--expand", "--database", f"{tmp_path}/rumor.sqlite3"]) == 1
    assert "stop its collector" in capsys.readouterr().err
