"""Backup and restore: online, verified, staged, private, and honest about what is lost."""

import sqlite3
import stat
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from tests.harness.collector import REGISTRY, TODAY, batch, collector, days_ago, registry, report

from rumor_server.access import Scope
from rumor_server.cli import backup as backup_command
from rumor_server.cli import restore as restore_command
from rumor_server.errors import StoreError
from rumor_server.operations.keyring import create_key, revoke_key
from rumor_server.settings import Settings
from rumor_server.storage.keys import list_keys
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.sqlite import file as sqlite_file
from rumor_server.storage.sqlite.backup import back_up, read_backup, restore
from rumor_server.storage.sqlite.store import SqliteStore

NOW = datetime.fromisoformat("2026-11-30T12:00:00+00:00")


def put_back(saved: Path, database: Path, *, reopen: bool = False, today: date = TODAY) -> object:
    """Restore a backup with the receipts beside the database."""
    receipts = Receipts(Settings(database=database).receipts_folder)
    return restore(saved, database, receipts, today, reopen=reopen)


def counted(database: Path, name: str = "theme") -> int:
    """How many reports of a metric the database counts."""
    with closing(SqliteStore(database)) as store:
        store.declare(registry())
        return store.tally(registry().metric(name), date.min, date.max).n


def test_backs_up_while_reports_come(tmp_path: Path) -> None:
    """A backup of a running collector is whole, private, and has all that was acknowledged."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    with collector(database) as running:
        running.send(batch(report(), report()))
        made = back_up(database, saved, NOW)
        running.send(batch(report()))
        assert running.estimates()["n"] == 3
    assert made == read_backup(saved)
    assert (made.taken, made.reports) == (NOW, 2)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert sorted(tmp_path.glob("saved*")) == [saved, tmp_path / "saved.sha256"]


def test_leaves_the_keys_of_open_days_out(tmp_path: Path) -> None:
    """No byte of a day's key is in the backup, on a free page neither."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    with collector(database) as running:
        for ago in range(7):
            running.send(batch(report(), day=days_ago(ago)))
        back_up(database, saved, NOW)
        with closing(sqlite3.connect(database)) as connection:
            keys = [key for (key,) in connection.execute("SELECT key FROM day_keys")]
    assert len(keys) == 7
    content = saved.read_bytes()
    assert not [key for key in keys if key in content or key[:16] in content]


def test_closes_days_whose_reports_may_be_lost(tmp_path: Path) -> None:
    """Without the flag no report of a day up to today is taken again; tomorrow's are."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    sent, lost = batch(report(), report()), batch(report())
    with collector(database) as running:
        running.send(sent)
        back_up(database, saved, NOW)
        running.send(lost)
    done = put_back(saved, database)
    assert (done.lost, done.open_days) == (1, False)  # type: ignore[attr-defined]
    with collector(database) as running:
        assert running.verdicts(lost) == ["too_late"]
        assert running.verdicts(sent) == ["too_late"] * 2
        assert running.estimates()["n"] == 2
        running.today = TODAY + timedelta(days=1)
        assert running.verdicts(batch(report(), day=running.today)) == ["accepted"]


def test_reopens_days_by_an_explicit_flag(tmp_path: Path) -> None:
    """With the flag what was lost is taken again, and what the backup counts never twice."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    sent, lost = batch(report(), report()), batch(report())
    with collector(database) as running:
        running.send(sent)
        back_up(database, saved, NOW)
        running.send(lost)
    put_back(saved, database, reopen=True)
    with collector(database) as running:
        assert running.verdicts(lost) == ["accepted"]
        assert set(running.verdicts(sent)) == {"conflicting_duplicate"}
        assert running.estimates()["n"] == 3


def test_does_retractions_again(tmp_path: Path) -> None:
    """A report that was taken back after the backup stays taken back, restore after restore."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    sent = batch(report(), report(), report())
    with collector(database) as running:
        running.send(sent)
        back_up(database, saved, NOW)
        gone = sent | {"retractions": sent["reports"][:2]}
        del gone["reports"]
        answer = running.client.post("/v1/retractions", json=gone)
        assert [one["verdict"] for one in answer.json()["results"]] == ["retracted"] * 2
        assert running.estimates()["n"] == 1
    for _ in range(2):
        done = put_back(saved, database)
        assert done.replayed == 2  # type: ignore[attr-defined]
        assert counted(database) == 1


def test_loses_nothing_that_was_taken_back(tmp_path: Path) -> None:
    """The gap counts what a device may miss: a report that it took back itself is not lost."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    sent = batch(report(), report(), report())
    with collector(database) as running:
        running.send(sent)
        back_up(database, saved, NOW)
        running.send(batch(report()))
        gone = sent | {"retractions": sent["reports"][:2]}
        del gone["reports"]
        running.client.post("/v1/retractions", json=gone)
        assert running.estimates()["n"] == 2
    assert put_back(saved, database).lost == 1  # type: ignore[attr-defined]
    assert counted(database) == 1


def test_upgrades_a_backup_of_an_older_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup from before an update is brought to this program's version as it is restored."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    with collector(database) as running:
        running.send(batch(report()))
        back_up(database, saved, NOW)
    steps = (*sqlite_file.STEPS, "CREATE TABLE more (x INTEGER) STRICT;\n")
    monkeypatch.setattr(sqlite_file, "STEPS", steps)
    put_back(saved, database)
    assert sqlite_file.version(database) == len(steps)
    assert counted(database) == 1


def test_revokes_again_what_was_revoked_since(tmp_path: Path) -> None:
    """A key that was revoked after the backup is not given back by it."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    settings = Settings(database=database)
    with collector(database):
        pass
    with closing(Control(settings)) as control:
        create_key(control, "kept", Scope.INGEST, TODAY)
        create_key(control, "lost", Scope.INGEST, TODAY)
        back_up(database, saved, NOW)
        revoke_key(control, "lost", TODAY)
    assert put_back(saved, database).revoked == 1  # type: ignore[attr-defined]
    with closing(Control(settings)) as control:
        assert [(key.name, key.valid(TODAY)) for key in list_keys(control)] == [
            ("kept", True),
            ("lost", False),
        ]


def test_restores_over_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    """A database that was there is moved aside, whole; where none was, it is made."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    with collector(database) as running:
        running.send(batch(report()))
        back_up(database, saved, NOW)
        running.send(batch(report()))
    done = put_back(saved, database)
    assert counted(done.before) == 2  # type: ignore[attr-defined]
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    elsewhere = tmp_path / "elsewhere" / "rumor.sqlite3"
    elsewhere.parent.mkdir()
    assert put_back(saved, elsewhere).before is None  # type: ignore[attr-defined]
    assert counted(elsewhere) == 1
    assert [path.name for path in elsewhere.parent.glob("*restoring*")] == []


def test_restores_over_a_damaged_database(tmp_path: Path) -> None:
    """What can't be read any more is moved aside, and the gap is unknown."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    with collector(database) as running:
        running.send(batch(report()))
        back_up(database, saved, NOW)
    database.write_bytes(b"\x00" * 8192)
    assert put_back(saved, database).lost is None  # type: ignore[attr-defined]
    assert counted(database) == 1


def test_refuses_while_a_collector_runs(tmp_path: Path) -> None:
    """A database in use is not replaced: what its collector acknowledged would be gone."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    with collector(database) as running:
        running.send(batch(report()))
        back_up(database, saved, NOW)
        with pytest.raises(StoreError, match="is in use"):
            put_back(saved, database)
        assert running.verdicts(batch(report())) == ["accepted"]
        assert running.estimates()["n"] == 2
    assert not list(tmp_path.glob("*restor*"))


def damaged(saved: Path) -> None:
    """Overwrite a page in the middle."""
    content = bytearray(saved.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4096] = b"\xff" * 4096
    saved.write_bytes(content)


def cut(saved: Path) -> None:
    """Cut the end off."""
    saved.write_bytes(saved.read_bytes()[:-8192])


def other(saved: Path) -> None:
    """Put another program's database there."""
    saved.unlink()
    with closing(sqlite3.connect(saved)) as connection:
        connection.execute("CREATE TABLE x (y)")


def text(saved: Path) -> None:
    """Put some text there."""
    saved.write_text("no database" * 1000)


def absent(saved: Path) -> None:
    """Take it away."""
    saved.unlink()


@pytest.mark.parametrize("harm", [damaged, cut, other, text, absent])
def test_refuses_a_backup_that_is_none(tmp_path: Path, harm: object) -> None:
    """A backup is checked before anything is touched; the database stays as it was."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    with collector(database) as running:
        for number in range(40):
            running.send(
                batch(report(), report("page", b"\x01\x02", revision=3, cohort=number % 4))
            )
        back_up(database, saved, NOW)
    assert callable(harm)
    harm(saved)
    with pytest.raises(StoreError):
        put_back(saved, database)
    assert counted(database) == 40
    assert not list(tmp_path.glob("*restor*"))


def test_refuses_the_database_itself_as_a_backup(tmp_path: Path) -> None:
    """DB-02: a copy of the file is no backup: it lacks what is in the file beside it."""
    database = tmp_path / "rumor.sqlite3"
    with collector(database) as running:
        running.send(batch(report()))
    with pytest.raises(StoreError, match="not a backup"):
        read_backup(database)


def test_never_overwrites_a_backup(tmp_path: Path) -> None:
    """A destination that exists is left alone; so is a database that doesn't."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    with pytest.raises(StoreError):
        back_up(database, saved, NOW)
    assert not database.exists()
    with collector(database):
        back_up(database, saved, NOW)
        before = saved.read_bytes()
        with pytest.raises(FileExistsError):
            back_up(database, saved, NOW)
    assert saved.read_bytes() == before


def test_prints_the_gap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`rumor backup` and `rumor restore` say what is saved, what is lost and what is closed."""
    database, saved = tmp_path / "rumor.sqlite3", tmp_path / "saved"
    where = ["--database", str(database)]
    with collector(database, REGISTRY) as running:
        running.send(batch(report(), report()))
        assert backup_command.main([str(saved), *where]) == 0
        running.send(batch(report()))
        assert restore_command.main([str(saved), *where]) == 1
        assert "is in use" in capsys.readouterr().err
    assert backup_command.main([str(saved), *where]) == 1
    assert "exists already" in capsys.readouterr().err
    assert restore_command.main([str(saved), *where]) == 0
    printed = capsys.readouterr().out
    assert "restored 2 reports" in printed
    assert "1 reports" in printed
    assert "--reopen" in printed
