"""Readiness is the write path's: whether a report could be committed now, by a real attempt."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import psycopg
import pytest
from tests.harness.collector import TODAY, batch, registry, report
from tests.server.storage.store_contract import screened

from benchmarks.postgres_server import Server
from rumor_server.errors import DiskAlmostFull, StoreError, StoreUnavailable
from rumor_server.ingestion.retraction import Receipt
from rumor_server.storage import committing
from rumor_server.storage.postgres.connection import upgrade
from rumor_server.storage.postgres.store import PostgresStore
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_server.storage.writer import Writer
from rumor_shared.wire import Verdict


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store in a folder of its own, that has counted a report."""
    (tmp_path / "data").mkdir()
    with closing(SqliteStore(tmp_path / "data" / "rumor.sqlite3", busy_seconds=0.1)) as opened:
        opened.declare(registry())
        assert counts(opened)
        yield opened


@pytest.fixture
def url(postgres: Server) -> str:
    """A database of ours."""
    made = postgres.make()
    upgrade(made)
    return made


def counts(store: SqliteStore | PostgresStore) -> bool:
    """Send a report; return whether it was counted."""
    ((result,),) = store.commit([screened(batch(report()))])
    return result.verdict is Verdict.ACCEPTED


def agree_that_nothing_is_counted(store: SqliteStore | PostgresStore) -> None:
    """Readiness and a report hear the same, whichever is first."""
    for ask in (store.check_writable, lambda: counts(store), store.check_writable):
        with pytest.raises(StoreError):
            ask()


def test_writes_only_after_a_failure_or_an_idle_minute(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that has just committed is asked for its lock alone."""
    ahead = tmp_path / "data" / "rumor.sqlite3-wal"
    before = ahead.read_bytes()
    store.check_writable()
    assert ahead.read_bytes() == before
    monkeypatch.setattr(committing, "_PROVEN_SECONDS", 0.0)
    store.check_writable()
    # Its size says nothing: what was copied over is written over from the beginning.
    assert ahead.read_bytes() != before


def delete_file(path: Path) -> None:
    """The database is gone."""
    path.unlink()


def delete_ahead(path: Path) -> None:
    """What is ahead of the database is gone."""
    path.with_name(path.name + "-wal").unlink()


def replace_file(path: Path) -> None:
    """Another file has the database's name."""
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def rename_folder(path: Path) -> None:
    """The folder has another name."""
    path.parent.rename(path.parent.with_name("elsewhere"))


def empty_folder(path: Path) -> None:
    """Everything of the database is gone."""
    shutil.rmtree(path.parent)


@pytest.mark.parametrize(
    "harm", [delete_file, delete_ahead, replace_file, rename_folder, empty_folder]
)
def test_c01_acknowledges_nothing_into_a_file_that_is_gone(
    store: SqliteStore,
    tmp_path: Path,
    harm: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-01, N-13: not ready, no verdict, one error line, and what was acknowledged is rescued."""
    harm(tmp_path / "data" / "rumor.sqlite3")
    agree_that_nothing_is_counted(store)
    (line,) = [one for one in caplog.records if one.levelname == "ERROR"]
    (rescued,) = tmp_path.glob("**/*.rescued-*")
    assert str(rescued) in line.getMessage()
    assert rescued.stat().st_mode & 0o077 == 0
    with closing(SqliteStore(rescued)) as again:
        assert again.tally(registry().metric("theme"), TODAY, TODAY).n >= 1


def test_c01_is_ready_again_when_the_file_is_back(store: SqliteStore, tmp_path: Path) -> None:
    """A folder that was renamed and renamed back is the one that is open."""
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    agree_that_nothing_is_counted(store)
    (tmp_path / "elsewhere").rename(tmp_path / "data")
    store.check_writable()
    assert counts(store)


def test_a_locked_file(store: SqliteStore, tmp_path: Path) -> None:
    """Another program that holds the file's lock makes it unready for as long as it does."""
    with closing(
        sqlite3.connect(tmp_path / "data" / "rumor.sqlite3", isolation_level=None)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        agree_that_nothing_is_counted(store)
        other.execute("ROLLBACK")
    store.check_writable()
    assert counts(store)


@pytest.mark.parametrize("pragma", ["max_page_count = 1", "query_only = ON"])
def test_a_file_that_takes_no_write(store: SqliteStore, pragma: str) -> None:
    """A full or read-only disk is known from the first commit that meets it."""
    store._connection.execute(f"PRAGMA {pragma}")
    with pytest.raises(StoreError):
        all(counts(store) for _ in range(1000))
    if pragma.startswith("query_only"):
        agree_that_nothing_is_counted(store)
        store._connection.execute("PRAGMA query_only = OFF")
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.check_writable()
    assert counts(store)


def test_below_the_reserve(store: SqliteStore, tmp_path: Path) -> None:
    """A disk below its reserve is not ready, as the door is; nor is a writer that has stopped."""

    async def play() -> None:
        writer = Writer(store, queue_reports=9, disk=tmp_path, reserve_bytes=1 << 62)
        writer.start()
        with pytest.raises(DiskAlmostFull):
            writer.check_writable()
        with pytest.raises(DiskAlmostFull):
            await writer.submit(screened(batch(report())))
        writer.close(5)
        with pytest.raises(StoreUnavailable, match="stopped"):
            writer.check_writable()

    asyncio.run(play())


def test_a_receipts_folder_that_takes_none(tmp_path: Path) -> None:
    """A folder that can't be made or was lost is known by looking, or from the last receipt."""
    receipt = Receipt(date(2026, 11, 30), b"i" * 16, b"d" * 16, None)
    (tmp_path / "file").write_text("")
    unusable = Receipts(tmp_path / "file" / "receipts")
    for ask in (unusable.check, lambda: unusable.append([receipt]), unusable.check):
        with pytest.raises(StoreUnavailable):
            ask()
    (tmp_path / "file").unlink()
    unusable.check()
    unusable.append([receipt])
    assert list(unusable.read()) == [receipt]


def test_a_locked_table(url: str) -> None:
    """A table that another session locks: NOWAIT says so at once."""
    with closing(PostgresStore(url, busy_seconds=0.2)) as store:
        store.declare(registry())
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE rumor.spend IN ACCESS EXCLUSIVE MODE")
            agree_that_nothing_is_counted(store)
        store.check_writable()
        assert counts(store)


def test_n19_a_database_that_is_read_only(url: str) -> None:
    """N-19: a session that may only read, as on a standby, is not ready."""
    with closing(PostgresStore(url)) as store:
        store.declare(registry())
        store._connection.execute("SET default_transaction_read_only = on")
        agree_that_nothing_is_counted(store)
        store._connection.execute("SET default_transaction_read_only = off")
        store.check_writable()
        assert counts(store)


def test_exhausted_connections(url: str) -> None:
    """With no connection left for anybody else, the one that writes is ready, and says so."""
    with closing(PostgresStore(url, busy_seconds=1)) as store:
        store.declare(registry())
        name = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])
        elsewhere = psycopg.conninfo.make_conninfo(url, dbname="postgres")
        with psycopg.connect(elsewhere, autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            try:
                store.check_writable()
                assert counts(store)
            finally:
                admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
