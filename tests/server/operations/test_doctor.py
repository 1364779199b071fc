"""`rumor doctor`: each thing that can be wrong is found, and nothing else."""

import json
import os
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.harness.collector import REGISTRY, TODAY, batch, collector, days_ago, registry, report

from benchmarks.postgres_server import Server
from rumor_server.access import Scope
from rumor_server.cli import doctor as command
from rumor_server.operations import doctor
from rumor_server.operations.doctor import Level, run_checks
from rumor_server.operations.keyring import create_key
from rumor_server.settings import Settings
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.postgres.connection import upgrade
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.registry_in_force import put_in_force
from rumor_server.storage.sqlite.backup import back_up, restore
from rumor_server.storage.sqlite.store import SqliteStore

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31").replace("2026-11-28", "2999-12-31")
LASTING = LASTING.replace("[metrics.page]", "[metrics.page]\nexpected_devices = 1000000")
LASTING = LASTING.replace('"system"]', '"system"]\nother = "system"').replace("= 100.0", "= 20.0")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A collector that was well when it stopped."""
    monkeypatch.setattr(doctor, "SAFE_SQLITE", (3, 0, 0))
    file = tmp_path / "metrics.toml"
    file.write_text(LASTING, "utf-8")
    made = Settings(registry=file, database=tmp_path / "rumor.sqlite3")
    with collector(made.database, LASTING) as running:
        running.send(batch(report()))
    return made


def found(settings: Settings, day: Any = TODAY) -> list[tuple[str, str]]:
    """What isn't well, without its details."""
    return [
        (one.level.value, one.about)
        for one in run_checks(settings, day)
        if one.level is not Level.OK
    ]


def test_finds_nothing_where_all_is_well(settings: Settings) -> None:
    """A collector that is well is well; each thing that was looked at is named."""
    assert found(settings) == []
    looked_at = {one.about for one in run_checks(settings, TODAY)}
    assert looked_at == {
        "access", "workers", "disk", "file", "pages", "registry", "database", "retention",
        "clock", "keys", "tallies",
    }  # fmt: skip


def test_finds_a_damaged_page(settings: Settings) -> None:
    """A damaged page is wrong, and never a traceback."""
    content = bytearray(settings.database.read_bytes())
    content[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    settings.database.write_bytes(content)
    assert ("wrong", "pages") in found(settings)


def test_finds_a_full_disk(settings: Settings) -> None:
    """Too little space is wrong, and little is a warning."""
    free = os.statvfs(settings.database).f_bavail * os.statvfs(settings.database).f_frsize
    for reserve, level in ((2 * free, "wrong"), (free // 2, "warning")):
        tight = Settings(settings.registry, settings.database, reserve_bytes=reserve)
        assert found(tight) == [(level, "disk")]


def test_finds_days_past_their_retention(settings: Settings) -> None:
    """Ids that nobody deleted are wrong."""
    assert found(settings, TODAY + timedelta(days=7)) == []
    assert ("wrong", "retention") in found(settings, TODAY + timedelta(days=9))


@pytest.mark.parametrize("reopen", [False, True])
def test_finds_ids_that_a_restore_kept(settings: Settings, tmp_path: Path, reopen: bool) -> None:
    """O-03: a restored database has ids whose days' keys were left out; they are looked at too."""
    copy = tmp_path / "copy.backup"
    back_up(settings.database, copy, datetime(2026, 11, 30, tzinfo=UTC))
    receipts = Receipts(tmp_path / "receipts")
    restore(copy, settings.database, receipts, TODAY, reopen=reopen)
    with closing(Control(settings)) as control, control.transaction() as statements:
        statements.run("DELETE FROM spend")
        kept = bool(statements.rows("SELECT 1 FROM ids"))
    assert kept is reopen
    late = found(settings, TODAY + timedelta(days=9))
    assert (("wrong", "retention") in late) is reopen


def test_finds_a_wrong_clock(settings: Settings) -> None:
    """Days that are closed ahead of today, or reports after it, mean a wrong clock."""
    assert ("wrong", "clock") in found(settings, days_ago(3))
    with closing(SqliteStore(settings.database)) as store:
        store.close_days(TODAY)
    assert found(settings) == [("wrong", "clock")]
    assert found(settings, TODAY + timedelta(days=1)) == []


def test_finds_a_registry_that_is_wrong_or_not_in_force(settings: Settings) -> None:
    """A missing, an expired and another registry than the one in force are told."""
    with closing(Control(settings)) as control:
        put_in_force(control, "another")
    assert found(settings) == [("warning", "registry")]
    settings.registry.write_text(LASTING.replace("2999-12-31", str(days_ago(1)), 1), "utf-8")
    assert ("wrong", "registry") in found(settings)
    settings.registry.unlink()
    assert ("wrong", "registry") in found(settings)


def test_finds_keys_that_are_missing_or_end(settings: Settings) -> None:
    """Access by key without a key, and a key that ends soon, are told."""
    keyed = Settings(settings.registry, settings.database, ingest_access="key")
    assert found(keyed) == [("wrong", "keys")]
    with closing(Control(settings)) as control:
        create_key(control, "app", Scope.INGEST, TODAY, expires=TODAY + timedelta(days=3))
    assert found(keyed) == [("warning", "keys")]


def test_finds_what_others_may_read(settings: Settings) -> None:
    """A database that others may read is a warning."""
    settings.database.chmod(0o644)
    assert found(settings) == [("warning", "file")]


def test_warns_of_several_workers_on_an_old_sqlite(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before SQLite 3.51.3 two processes on one file may lose pages."""
    monkeypatch.setattr(doctor, "SAFE_SQLITE", (99, 0, 0))
    assert found(settings) == [("warning", "workers")]


def test_finds_undecided_access(settings: Settings) -> None:
    """Listening to other machines without a decision who may call is wrong, as serve has it."""
    assert found(Settings(settings.registry, settings.database, host="192.0.2.1")) == [
        ("wrong", "access")
    ]


def test_makes_no_database(tmp_path: Path) -> None:
    """Looking at a database that doesn't exist makes none."""
    settings = Settings(database=tmp_path / "rumor.sqlite3", registry=tmp_path / "none.toml")
    assert ("warning", "database") in found(settings)
    assert not settings.database.exists()


def test_refuses_a_foreign_file(tmp_path: Path) -> None:
    """A file that is no database of ours is wrong, and stays as it is."""
    settings = Settings(database=tmp_path / "rumor.sqlite3")
    settings.database.write_text("not a database" * 100)
    before = settings.database.read_bytes()
    assert {("wrong", "pages"), ("wrong", "database")} <= set(found(settings))
    assert settings.database.read_bytes() == before


def test_looks_over_postgres(settings: Settings, postgres: Server) -> None:
    """On PostgreSQL the same things are looked at, but for the SQLite file; a lost one is wrong."""
    url = postgres.make()
    elsewhere = Settings(settings.registry, settings.database, database_url=url)
    assert found(elsewhere) == [("wrong", "database")]
    upgrade(url)
    assert found(elsewhere) == []
    gone = Settings(settings.registry, settings.database, database_url=url + "0")
    assert found(gone) == [("wrong", "database")]


def test_exits_with_what_it_found(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """The command exits 1 where something is wrong; --json has every finding."""
    words = ["--registry", str(settings.registry), "--database", str(settings.database)]
    with closing(SqliteStore(settings.database)) as store:
        store.declare(registry(LASTING))
    command.main(words)
    assert "database" in capsys.readouterr().out
    settings.registry.unlink()
    assert command.main([*words, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert {"level": "wrong", "about": "registry"}.items() <= next(
        row for row in rows if row["about"] == "registry"
    ).items()
    assert command.main(["--settings", "no-such-file.toml"]) == 1


def test_c04_tells_that_an_erasure_is_pending(settings: Settings) -> None:
    """A write-ahead file that stayed full for longer than a collector lets it is told."""
    with closing(SqliteStore(settings.database)) as store:
        store.check_writable()
        ahead = settings.database.with_name(settings.database.name + "-wal")
        assert ahead.stat().st_size
        assert "erasure" not in {one.about for one in run_checks(settings, TODAY)}
        long_ago = time.time() - 60
        os.utime(ahead, (long_ago, long_ago))
        assert "erasure" in {one.about for one in run_checks(settings, TODAY)}
        assert store.erase()
        assert "erasure" not in {one.about for one in run_checks(settings, TODAY)}
