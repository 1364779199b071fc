"""`rumor db`: which version a database has, and its upgrade."""

from pathlib import Path

import psycopg
import pytest

from benchmarks.postgres_server import Server
from rumor_server.cli import db
from rumor_server.settings import load_settings
from rumor_server.storage.migrations import check_version, steps
from rumor_server.storage.open_store import open_store


@pytest.fixture
def url(postgres: Server) -> str:
    """The address of an empty database."""
    return postgres.make()


def test_upgrades_a_server_and_says_so(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty database is behind until it is upgraded; another upgrade changes nothing."""
    assert db.main(["status", "--database", url]) == 1
    assert "rumor db upgrade" in capsys.readouterr().out
    assert db.main(["upgrade", "--database", url]) == 0
    assert db.main(["upgrade", "--database", url]) == 0
    assert db.main(["status", "--database", url]) == 0
    known = len(steps("postgres"))
    upgraded, again, status = capsys.readouterr().out.splitlines()
    assert upgraded == f"upgraded from 0 to {known}"
    assert again == f"version {known}"
    assert status == f"database {known}, program {known}: up to date"


def test_upgrades_a_file_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for a SQLite file, which is made if it is absent."""
    file = str(tmp_path / "rumor.sqlite3")
    assert db.main(["status", "--database", file]) == 1
    assert not (tmp_path / "rumor.sqlite3").exists()
    assert db.main(["upgrade", "--database", file]) == 0
    assert db.main(["status", "--database", file]) == 0
    assert "up to date" in capsys.readouterr().out


def test_leaves_a_later_version_alone(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A version that this program doesn't know is refused with advice."""
    db.main(["upgrade", "--database", url])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO rumor.migrations VALUES (99)")
    assert db.main(["upgrade", "--database", url]) == 1
    assert "install the version of Rumor that wrote it" in capsys.readouterr().err


def test_opens_the_store_that_the_settings_name(url: str, tmp_path: Path) -> None:
    """A file or an address, from any source; the address is a secret among the settings."""
    db.main(["upgrade", "--database", url])
    for settings in (
        load_settings({"database": url}, {}),
        load_settings({}, {"RUMOR_DATABASE": url}),
        load_settings({}, {"RUMOR_DATABASE_URL": url}),
    ):
        assert settings.database_url == url
        store = open_store(settings)
        assert type(store).__name__ == "PostgresStore"
        store.close()
    store = open_store(load_settings({"database": str(tmp_path / "a.sqlite3")}, {}))
    assert type(store).__name__ == "SqliteStore"
    store.close()


def test_tells_what_to_do_of_each_version() -> None:
    """Behind, the same and ahead."""
    check_version(2, 2)
    for found, advice in ((1, "rumor db upgrade"), (3, "install the version")):
        with pytest.raises(Exception, match=advice):
            check_version(found, 2)


def test_names_its_steps_by_number() -> None:
    """Both databases have the same number of steps, numbered without a gap."""
    from importlib.resources import files

    for database in ("sqlite", "postgres"):
        folder = files("rumor_server.storage.migrations").joinpath(database)
        names = sorted(file.name for file in folder.iterdir())
        assert [name[:4] for name in names] == [f"{i:04}" for i in range(1, len(names) + 1)]
    assert len(steps("sqlite")) == len(steps("postgres"))
