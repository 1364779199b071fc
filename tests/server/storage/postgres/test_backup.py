"""Backup and restore of PostgreSQL, with its own tools and a real server."""

import stat
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from tests.harness.collector import TODAY, batch, compact, registry, report

from benchmarks.postgres_server import Server, binaries
from rumor_server.cli import backup as backup_command
from rumor_server.cli import restore as restore_command
from rumor_server.errors import StoreError
from rumor_server.ingestion.batch import decode_batch
from rumor_server.ingestion.screening import Charges, screen_batch
from rumor_server.settings import Settings
from rumor_server.storage.postgres import connection as postgres_connection
from rumor_server.storage.postgres.backup import back_up_postgres, restore_postgres
from rumor_server.storage.postgres.connection import STEPS, connect, upgrade, version
from rumor_server.storage.postgres.store import PostgresStore
from rumor_server.storage.store import Store
from rumor_shared.wire import JSON


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's programs on the path, wherever Debian keeps them."""
    found = binaries()
    if found is not None:
        monkeypatch.setenv("PATH", str(found), prepend=":")


def send(store: Store, sent: dict[str, object]) -> list[str]:
    """Commit a batch; return for each report its reason, or its verdict if there is none."""
    screened = screen_batch(decode_batch(compact(sent), JSON), Charges(registry()), TODAY, 7)
    (results,) = store.commit([screened])
    return [result.reason or result.verdict for result in results]


def counted(url: str) -> int:
    """How many reports of the theme the database counts."""
    with closing(PostgresStore(url)) as store:
        store.declare(registry())
        return store.tally(registry().metric("theme"), date.min, date.max).n


@pytest.mark.parametrize("reopen", [False, True])
def test_restores_a_backup_into_an_empty_database(
    postgres: Server, tmp_path: Path, reopen: bool
) -> None:
    """The copy counts what the original did, without keys of days; open days follow the flag."""
    url, saved = postgres.make(), tmp_path / "saved"
    upgrade(url)
    sent = batch(report(), report())
    with closing(PostgresStore(url)) as store:
        store.declare(registry())
        assert send(store, sent) == ["accepted"] * 2
        back_up_postgres(url, saved)
        send(store, batch(report()))
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    other = postgres.make()
    settings = Settings(database=tmp_path / "rumor.sqlite3", database_url=other)
    done = restore_postgres(settings, saved, TODAY, reopen=reopen)
    assert (done.replayed, done.lost) == (0, None)
    assert (done.backup.reports, done.backup.closed_through) == (2, None)
    assert abs(datetime.now(UTC) - done.backup.taken) < timedelta(minutes=10)
    assert counted(other) == 2
    with connect(other, 5) as connection:
        assert connection.execute("SELECT count(*) FROM day_keys").fetchone() == (0,)
    with closing(PostgresStore(other)) as store:
        store.declare(registry())
        assert send(store, batch(report())) == (["accepted"] if reopen else ["too_late"])
        again = send(store, sent)
        assert set(again) <= (
            {"conflicting_duplicate"} if reopen else {"too_late", "conflicting_duplicate"}
        )
    assert counted(other) == 2 + reopen


def test_refuses_a_database_in_use(postgres: Server, tmp_path: Path) -> None:
    """A database with a schema of ours is never restored over; a backup is never overwritten."""
    url, saved = postgres.make(), tmp_path / "saved"
    upgrade(url)
    back_up_postgres(url, saved)
    with pytest.raises(FileExistsError):
        back_up_postgres(url, saved)
    settings = Settings(database=tmp_path / "rumor.sqlite3", database_url=url)
    with pytest.raises(StoreError, match="has a schema"):
        restore_postgres(settings, saved, TODAY, reopen=False)


def test_names_what_keeps_it_from_working(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing programs, a foreign dump and an address that libpq's tools can't take are told."""
    saved = tmp_path / "saved"
    with pytest.raises(StoreError, match=r"pg_dump failed: .*no matching schemas"):
        back_up_postgres(postgres.make(), saved)
    with pytest.raises(StoreError, match="options can't be given"):
        back_up_postgres("postgresql://x/y?options=z", saved)
    saved.write_text("no dump")
    settings = Settings(database=tmp_path / "x", database_url=postgres.make())
    with pytest.raises(StoreError, match="pg_restore failed"):
        restore_postgres(settings, saved, TODAY, reopen=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(StoreError, match="pg_dump is not installed"):
        back_up_postgres(postgres.make(), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_works_from_the_command_line(
    postgres: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`rumor backup` and `rumor restore` take PostgreSQL's address from the settings."""
    url, saved = postgres.make(), tmp_path / "saved"
    upgrade(url)
    monkeypatch.setenv("RUMOR_DATABASE", str(tmp_path / "rumor.sqlite3"))
    monkeypatch.setenv("RUMOR_DATABASE_URL", url)
    assert backup_command.main([str(saved)]) == 0
    assert restore_command.main([str(saved)]) == 1
    monkeypatch.setenv("RUMOR_DATABASE_URL", postgres.make())
    assert restore_command.main([str(saved)]) == 0
    printed = capsys.readouterr().out
    assert "restored 0 reports of 2" in printed
    assert "an unknown number of reports" in printed
    assert "days up to today are closed" in printed


def test_upgrades_a_backup_of_an_older_version(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup from before an update is brought to this program's version as it is restored."""
    url, other, saved = postgres.make(), postgres.make(), tmp_path / "saved"
    upgrade(url)
    back_up_postgres(url, saved)
    monkeypatch.setattr(postgres_connection, "STEPS", (*STEPS, "CREATE TABLE more (x int)"))
    settings = Settings(database=tmp_path / "x", database_url=other)
    restore_postgres(settings, saved, TODAY, reopen=False)
    with connect(other, 5) as connection:
        assert version(connection) == len(STEPS) + 1


def test_leaves_nothing_where_retractions_can_not_be_done_again(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged receipt is found before anything is restored; a fault after that leaves nothing,
    so that no collector starts on a database whose retractions are undone.
    """
    url, other, saved = postgres.make(), postgres.make(), tmp_path / "saved"
    upgrade(url)
    back_up_postgres(url, saved)
    settings = Settings(database=tmp_path / "x", database_url=other)
    settings.receipts_folder.mkdir()
    damaged = settings.receipts_folder / f"{TODAY}.jsonl"
    damaged.write_text("{}\n")
    with pytest.raises(StoreError, match=r"line 1: is damaged"):
        restore_postgres(settings, saved, TODAY, reopen=False)
    damaged.unlink()

    def fail(*_: object) -> int:
        raise StoreError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(PostgresStore, "replay", fail)
        with pytest.raises(StoreError, match="planted"):
            restore_postgres(settings, saved, TODAY, reopen=False)
    with connect(other, 5) as connection:
        assert version(connection) == 0
    assert restore_postgres(settings, saved, TODAY, reopen=False).replayed == 0
