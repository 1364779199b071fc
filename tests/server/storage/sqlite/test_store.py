"""The store on a SQLite file: what every store does, and what only a file can meet."""

import re
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.harness.collector import TODAY, batch, days_ago, registry, report
from tests.server.storage.store_contract import (
    Count,
    OpenStore,
    Remember,
    StoreContract,
    forget_all,
    screened,
    sqlite_remember,
)

from rumor_server.errors import DiskAlmostFull, StoreError, StoreUnavailable, UnknownSchema
from rumor_server.ingestion.admission import Addition
from rumor_server.ingestion.keyed_hashes import HASH_BYTES
from rumor_server.storage.sqlite import statements as sqlite_statements
from rumor_server.storage.sqlite.file import (
    APPLICATION_ID,
    check_made,
    check_place,
    open_reader,
    open_writer,
    upgrade,
    version,
)
from rumor_server.storage.sqlite.statements import SqliteStatements, prepare
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_shared.wire import Verdict


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A path for a database that does not exist yet."""
    return tmp_path / "rumor.sqlite3"


@pytest.fixture
def store(database: Path) -> Iterator[SqliteStore]:
    """A store that has adopted the registry of the tests."""
    with closing(SqliteStore(database, busy_seconds=0.2)) as opened:
        opened.declare(registry())
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
    forget_all(store)
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


def test_packs_any_number_of_rows(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a group has more rows than one statement packs, each is written and found once."""
    monkeypatch.setattr(sqlite_statements, "_PACKED", 3)
    with closing(SqliteStore(database)) as store:
        store.declare(registry())
        group = [screened(batch(report(), report())) for _ in range(5)]
        for verdict in (Verdict.ACCEPTED, Verdict.DUPLICATE):
            verdicts = [one.verdict for results in store.commit(group) for one in results]
            assert verdicts == [verdict] * 10
        assert store.tally(registry().metric("theme"), TODAY, TODAY).n == 10


@pytest.mark.parametrize("spent", [0, 1])
def test_holds_a_cap_within_the_statement(database: Path, spent: int) -> None:
    """An account that a faulty decision would overdraw stops the commit, new or known."""
    place = (TODAY, bytes(HASH_BYTES))
    with closing(open_writer(database, 1)) as connection:
        prepare(connection)
        if spent:
            SqliteStatements(connection).add_spend({place: Addition(0, 9, 1)})
        for micro, is_refused in ((9 - spent, False), (10, True)):
            connection.execute("BEGIN IMMEDIATE")
            over = Addition(spent, 9, micro)
            with pytest.raises(StoreError) if is_refused else nullcontext():
                SqliteStatements(connection).add_spend({place: over})
            connection.execute("ROLLBACK")


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


def device(path: Path) -> None:
    """A device's state, which bears the same mark."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE device (x)")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")


def text(path: Path) -> None:
    """No database at all."""
    path.write_bytes(b"important notes, not to be lost" * 100)


@pytest.mark.parametrize("make", [foreign, newer, device, text])
def test_refuses_a_file_it_does_not_know(database: Path, make: Any) -> None:
    """A file of another program or version is refused with advice, and not a byte of it changes."""
    make(database)
    before = database.read_bytes()
    with pytest.raises(UnknownSchema, match=r"give another path|install the version") as caught:
        SqliteStore(database)
    assert str(caught.value).startswith(f"{database}: ")
    assert database.read_bytes() == before


def test_says_why_a_file_cannot_be_opened(tmp_path: Path) -> None:
    """A folder in its place, one that does not exist, and what is no file are clear errors."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("/dev/null")
    for path, said in (
        (tmp_path, f"{tmp_path}: is a folder; give a file"),
        (tmp_path / "nowhere" / "x.sqlite3", f"{tmp_path / 'nowhere'}: there is no such folder"),
        (tmp_path / "file" / "x.sqlite3", f"{tmp_path / 'file'}: there is no such folder"),
        (tmp_path / "link", f"{tmp_path / 'link'}: is no plain file"),
    ):
        for use in (SqliteStore, version, upgrade, check_place, check_made):
            with pytest.raises(StoreError, match=re.escape(said)):
                use(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_reader_says_what_is_in_the_place_of_the_file(database: Path) -> None:
    """What was a database and is a folder now is told by its name, also to a reader."""
    database.mkdir()
    with pytest.raises(StoreError, match=re.escape(f"{database}: is a folder")):
        open_reader(database, 1.0)
    database.rmdir()
    with pytest.raises(StoreUnavailable, match=re.escape(f"{database}: the database can't be")):
        open_reader(database, 1.0)


def test_what_only_reads_makes_no_database(database: Path) -> None:
    """Where there is none, or an empty file, it is said; a database of ours is good."""
    for _ in range(2):
        with pytest.raises(StoreError, match=re.escape(f"{database}: there is no such database")):
            check_made(database)
        assert not database.exists() or database.stat().st_size == 0
        database.touch()
    SqliteStore(database).close()
    check_made(database)
