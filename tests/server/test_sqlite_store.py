"""The store on a SQLite file: exact, durable, and forgetful when a day closes."""

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.server.collecting import REGISTRY, TODAY, batch, compact, days_ago, registry, report

from rumor_server.admission import Charges, screen_batch
from rumor_server.batch import decode_batch
from rumor_server.errors import (
    ChangedMeaning,
    DiskAlmostFull,
    StoreError,
    StoreUnavailable,
    UnknownSchema,
)
from rumor_server.sqlite_store import SqliteStore
from rumor_server.store import ScreenedBatch
from rumor_shared.wire import JSON, Reason, Verdict


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


def screened(document: dict[str, Any], today: date = TODAY) -> ScreenedBatch:
    """A batch as screening passes it to the store."""
    declared = registry()
    decoded = decode_batch(compact(document), JSON)
    return screen_batch(decoded, Charges(declared), today, declared.max_age_days)


def count(database: Path, table: str) -> int:
    """How many rows a table has."""
    with closing(sqlite3.connect(database)) as connection:
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    return int(rows)


def test_commits_a_group_in_order(store: SqliteStore) -> None:
    """Batches of one group are decided as if each came alone, duplicates among them too."""
    sent = batch(report())
    more = batch(*[report() for _ in range(12)])
    first, again, rest = store.commit([screened(sent), screened(sent), screened(more)])
    assert [one.verdict for one in first + again] == [Verdict.ACCEPTED, Verdict.DUPLICATE]
    assert [one.reason for one in rest] == [None] * 10 + [Reason.BUDGET_EXCEEDED] * 2


def test_keeps_tallies_larger_than_a_chunk(tmp_path: Path) -> None:
    """Cells of every chunk are counted, the last and shorter one too, and reports once."""
    values = [f"v{number}" for number in range(600)]
    text = f"""
    [metrics.wide]
    revision = 1
    mechanism = "krr"
    epsilon = 1.0
    daily_epsilon = 100.0
    values = {values}
    owner = "test@example.org"
    purpose = "to test"
    expires = 2026-12-31
    """
    declared = registry(text.replace("'", '"'))
    with closing(SqliteStore(tmp_path / "wide.sqlite3")) as store:
        store.adopt(declared)
        for value in (0, 255, 256, 511, 512, 599, 599):
            document = batch(report("wide", value.to_bytes(2, "little")))
            decoded = decode_batch(compact(document), JSON)
            store.commit([screen_batch(decoded, Charges(declared), TODAY, 7)])
        tally = store.tally(declared.metric("wide"), TODAY, TODAY)
    expected = np.bincount([0, 255, 256, 511, 512, 599, 599], minlength=600)
    assert tally.n == 7
    assert np.array_equal(tally.counts[0], expected)


def test_forgets_a_day_when_it_closes(store: SqliteStore, database: Path) -> None:
    """Closing a day deletes its ids, spend and keys; tallies stay, reports come too late."""
    old = screened(batch(report(), day=days_ago(3)))
    new = screened(batch(report(), day=days_ago(2)))
    store.commit([old, new])
    assert store.close_days(days_ago(3)) == days_ago(3)
    assert [count(database, table) for table in ("ids", "spend", "day_keys")] == [1, 2, 1]
    ((late,), (known,)) = store.commit([old, new])
    assert late.reason == Reason.TOO_LATE
    assert known.verdict == Verdict.DUPLICATE
    assert store.tally(registry().metric("theme"), date.min, date.max).n == 2
    assert count(database, "day_keys") == 1


def test_never_opens_a_closed_day_again(store: SqliteStore, database: Path) -> None:
    """Whatever the clock does, the last closed day does not move back, nor over a restart."""
    assert store.close_days(days_ago(1)) == days_ago(1)
    assert store.close_days(days_ago(30)) == days_ago(1)
    with closing(SqliteStore(database)) as again:
        again.adopt(registry())
        assert again.close_days(days_ago(30)) == days_ago(1)
        ((late,),) = again.commit([screened(batch(report(), day=days_ago(1)))])
    assert late.reason == Reason.TOO_LATE


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


def test_refuses_a_changed_meaning(store: SqliteStore) -> None:
    """CF-01: a metric whose noise changed needs another revision; the error names it."""
    changed = registry(REGISTRY.replace("epsilon = 1.0\ndaily", "epsilon = 2.0\ndaily"))
    with pytest.raises(ChangedMeaning, match=r"metrics\.theme\.revision") as caught:
        store.adopt(changed)
    assert (caught.value.metric, caught.value.revision) == ("theme", 1)
    reworded = registry(REGISTRY.replace('purpose = "to test"', 'purpose = "to test more"'))
    store.adopt(reworded)


def test_remembers_what_every_revision_meant(store: SqliteStore) -> None:
    """Revisions of former registries are explained from the registries that declared them."""
    text = REGISTRY.replace("epsilon = 1.0\ndaily", "epsilon = 2.0\ndaily")
    text = text.replace('revision = 1\nmechanism = "krr"', 'revision = 2\nmechanism = "krr"')
    store.adopt(registry(text))
    found = store.revisions("theme")
    assert [one.revision for one in found] == [1, 2]
    assert [one.mechanism.epsilon_report for one in found] == [1_000_000, 2_000_000]
    assert store.revisions("unknown") == ()


def test_is_exact_with_two_writers_on_one_file(store: SqliteStore, database: Path) -> None:
    """Two stores on one file, as two processes hold it, share ids and budgets exactly."""
    pseudonym = bytes(16)
    documents = [batch(report(), pseudonym=pseudonym) for _ in range(25)]
    accepted: list[bool] = []
    patient = [SqliteStore(database, busy_seconds=30) for _ in range(2)]
    with closing(patient[0]), closing(patient[1]):
        for one in patient:
            one.adopt(registry())

        def send(number: int) -> None:
            ((result,),) = patient[number % 2].commit([screened(documents[number])])
            accepted.append(result.verdict is Verdict.ACCEPTED)

        threads = [threading.Thread(target=send, args=(number,)) for number in range(25)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (sum(accepted), len(accepted)) == (10, 25)
    assert store.tally(registry().metric("theme"), TODAY, TODAY).n == 10


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


def test_reads_while_it_writes(store: SqliteStore) -> None:
    """DB-01: 4 threads of reading and 4 of writing meet no lock."""
    faults: list[BaseException] = []

    def write() -> None:
        for _ in range(50):
            store.commit([screened(batch(report()))])

    def read() -> None:
        for _ in range(50):
            store.tally(registry().metric("theme"), TODAY, TODAY)

    def watched(work: Any) -> None:
        try:
            work()
        except StoreError as error:
            faults.append(error)

    threads = [threading.Thread(target=watched, args=(work,)) for work in [write, read] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert store.tally(registry().metric("theme"), TODAY, TODAY).n == 200


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


def test_shows_only_days_that_have_reports(store: SqliteStore) -> None:
    """The first and last day of a metric are those with a counted report."""
    assert store.days("theme") is None
    store.commit([screened(batch(report(), day=TODAY - timedelta(days=one))) for one in (5, 2)])
    assert store.days("theme") == (days_ago(5), days_ago(2))
    assert store.days("page") is None
