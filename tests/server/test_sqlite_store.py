"""The store on a SQLite file: what every store does, and what only a file can meet."""

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.server.collecting import TODAY, batch, days_ago, registry, report
from tests.server.store_contract import (
    Count,
    OpenStore,
    Remember,
    StoreContract,
    screened,
    sqlite_remember,
)

from rumor_server.errors import DiskAlmostFull, StoreError, StoreUnavailable, UnknownSchema
from rumor_server.storage.sqlite_store import SqliteStore
from rumor_shared.wire import Verdict


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A path for a database that does not exist yet."""
    return tmp_path / "rumor.sqlite3"


@pytest.fixture
def store(database: Path) -> Iterator[SqliteStore]:
    """A store that has adopted the registry of the tests."""
    with closing(SqliteStore(database, busy_seconds=0.2)) as opened:
        opened.adopt(registry())
        yield opened


class TestSqliteStore(StoreContract):
    """What every store does, done by SQLite."""

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        """Open the one file of a test, as another process would."""
        return lambda: SqliteStore(tmp_path / "contract.sqlite3", busy_seconds=30)

    @pytest.fixture
    def count(self, tmp_path: Path) -> Count:
        """Count the rows of a table of that file."""

        def rows(table: str) -> int:
            with closing(sqlite3.connect(tmp_path / "contract.sqlite3")) as connection:
                (counted,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
            return int(counted)

        return rows

    @pytest.fixture
    def remember(self, tmp_path: Path) -> Remember:
        """Copy that file as it is, and back."""
        return sqlite_remember(tmp_path / "contract.sqlite3")


def test_erases_what_it_deletes(store: SqliteStore, database: Path) -> None:
    """The key of a closed day is not left behind in free pages of the file."""
    store.commit([screened(batch(report(), day=days_ago(3)))])
    with closing(sqlite3.connect(database)) as connection:
        (key,) = connection.execute("SELECT key FROM day_keys").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert key in database.read_bytes()
    store.close_days(days_ago(3))
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert key not in database.read_bytes()


def test_waits_for_the_lock_instead_of_failing_at_once(store: SqliteStore, database: Path) -> None:
    """DB-01: a writer that finds the file locked waits; only a lock held too long is an error."""
    with closing(sqlite3.connect(database, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.05, other.execute, ["COMMIT"])
        timer.start()
        ((result,),) = store.commit([screened(batch(report()))])
        timer.join()
        assert result.verdict is Verdict.ACCEPTED
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"):
            store.commit([screened(batch(report()))])
        other.execute("ROLLBACK")
    assert store.commit([screened(batch(report()))])[0][0].verdict is Verdict.ACCEPTED


class Faulty:
    """A connection that fails at one statement, as a full disk would make it."""

    def __init__(self, connection: sqlite3.Connection, statement: str) -> None:
        self._connection = connection
        self._statement = statement

    def execute(self, sql: str, *rest: Any) -> Any:
        """Fail at the statement, else pass it on."""
        if sql.startswith(self._statement):
            raise sqlite3.OperationalError("disk I/O error")
        return self._connection.execute(sql, *rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.parametrize("statement", ["BEGIN", "SELECT key", "INSERT INTO tallies", "COMMIT"])
def test_writes_all_or_nothing(
    store: SqliteStore, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault at any statement leaves no part of a batch, and the same batch can be sent again."""
    sent = screened(batch(report(), report()))
    with monkeypatch.context() as patch:
        patch.setattr(store, "_connection", Faulty(store._connection, statement))
        with pytest.raises(StoreUnavailable):
            store.commit([sent])
    assert store.tally(registry().metric("theme"), TODAY, TODAY).n == 0
    (results,) = store.commit([sent])
    assert [one.verdict for one in results] == [Verdict.ACCEPTED] * 2


def test_is_whole_after_the_disk_was_full(store: SqliteStore) -> None:
    """A commit that the disk has no room for is DiskAlmostFull, and all goes on once there is."""
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    sent = [screened(batch(*[report() for _ in range(9)])) for _ in range(100)]
    with pytest.raises(DiskAlmostFull):
        store.commit(sent)
    assert store.tally(registry().metric("theme"), TODAY, TODAY).n == 0
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.commit(sent)
    assert store.tally(registry().metric("theme"), TODAY, TODAY).n == 900


def test_makes_a_file_for_its_owner_alone(store: SqliteStore, database: Path) -> None:
    """The database and what SQLite keeps beside it can be read by no one else."""
    store.commit([screened(batch(report()))])
    files = sorted(database.parent.iterdir())
    assert len(files) == 3
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def foreign(path: Path) -> None:
    """Another program's database."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()


def newer(path: Path) -> None:
    """A database of a later version of ours."""
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def text(path: Path) -> None:
    """No database at all."""
    path.write_bytes(b"important notes, not to be lost" * 100)


@pytest.mark.parametrize("make", [foreign, newer, text])
def test_refuses_a_file_it_does_not_know(database: Path, make: Any) -> None:
    """A file of another program or version is refused with advice, and not a byte of it changes."""
    make(database)
    before = database.read_bytes()
    with pytest.raises(UnknownSchema, match=r"give another path|install the version"):
        SqliteStore(database)
    assert database.read_bytes() == before


def test_says_why_a_file_cannot_be_opened(tmp_path: Path) -> None:
    """A folder that does not exist is a clear error."""
    with pytest.raises(StoreError, match="can't be opened"):
        SqliteStore(tmp_path / "nowhere" / "rumor.sqlite3")
