"""One look-up of settings and database for every command, and no database that nobody asked for."""

from pathlib import Path

import pytest
from tests.harness.collector import REGISTRY

from rumor_server.settings import Settings, load_settings
from rumor_shared import console

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31").replace("2026-11-28", "2999-12-31")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with a registry, and nothing of this machine's settings."""
    for name in ("RUMOR_SETTINGS", "RUMOR_DATABASE", "RUMOR_DATABASE_URL", "RUMOR_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "metrics.toml").write_text(LASTING, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rumor(line: str) -> int:
    """The exit code of a command."""
    try:
        return console.main(line.split())
    except SystemExit as stop:
        return int(stop.code or 0)


def named(path: Path, database: str) -> Path:
    """A settings file that names a database."""
    path.write_text(f'database = "{database}"\n', "utf-8")
    return path


EVERY = [
    "db status",
    "db upgrade",
    "keys list",
    "keys create one --scope analyst",
    "backup copy.sqlite3",
    "tallies merge --registry metrics.toml none.npz",
    "doctor",
]


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("how", ["option", "variable", "here"])
def test_every_command_finds_the_same_settings(
    command: str,
    how: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """O-02: --settings, RUMOR_SETTINGS and ./rumor.toml lead each command to one database, and it
    says which.
    """
    assert rumor("keys create first --scope ingest --database live.sqlite3") == 0
    file = named(folder / ("rumor.toml" if how == "here" else "other.toml"), "live.sqlite3")
    words = f"{command} --settings {file}" if how == "option" else command
    if how == "variable":
        monkeypatch.setenv("RUMOR_SETTINGS", str(file))
    capsys.readouterr()
    rumor(words)
    assert f"database {folder / 'live.sqlite3'}" in capsys.readouterr().err
    assert not (folder / "rumor.sqlite3").exists()


def test_an_option_wins_over_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The order stays: option, environment, file; --settings wins over RUMOR_SETTINGS, and that
    over ./rumor.toml.
    """
    for name in ("a", "b", "c", "d", "e"):
        assert rumor(f"db upgrade --database {name}.sqlite3") == 0
    named(folder / "rumor.toml", "a.sqlite3")
    capsys.readouterr()
    steps = [
        ("", "a", {}),
        ("", "b", {"RUMOR_SETTINGS": str(named(folder / "b.toml", "b.sqlite3"))}),
        (f"--settings {named(folder / 'c.toml', 'c.sqlite3')}", "c", {}),
        ("--settings c.toml", "d", {"RUMOR_DATABASE": "d.sqlite3"}),
        ("--settings c.toml --database e.sqlite3", "e", {}),
    ]
    for words, found, variables in steps:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert rumor(f"db status {words}") == 0
        assert f"database {folder / found}.sqlite3" in capsys.readouterr().err


@pytest.mark.parametrize("command", [*EVERY, "keys revoke one", "tallies export out.npz"])
def test_no_command_makes_a_database_that_nobody_named(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a name, a folder that has no database is left as it is."""
    before = sorted(folder.iterdir())
    code = rumor(command)
    assert code == (0 if command == "doctor" else 1)
    assert sorted(folder.iterdir()) == before
    assert "database" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "keys create one --scope analyst --minute-requests -1",
        "keys create one --scope analyst --expires 2020-01-01",
        "keys create one/two --scope analyst",
        "keys list",
        "keys revoke one",
        "tallies merge none.npz",
        "tallies merge --registry metrics.toml none.npz",
        "tallies merge --registry none.toml none.npz",
        "tallies export out.npz",
        "db status",
        "backup copy.sqlite3",
        "doctor --registry none.toml",
    ],
)
def test_what_fails_makes_no_database(command: str, folder: Path) -> None:
    """A command that can't do what it was asked leaves no empty database at a name it was given."""
    assert rumor(f"{command} --database new.sqlite3") == 1
    assert list(folder.glob("new.sqlite3*")) == []


def test_settings_that_are_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that was named has to be there; only ./rumor.toml may be missing."""
    assert rumor("db status --settings none.toml") == 1
    assert "none.toml" in capsys.readouterr().err


def test_an_address_is_shown_without_its_password() -> None:
    """The name of a PostgreSQL database has neither password nor parameters, which may hold one."""
    for url, shown in (
        ("postgresql://me:secret@db.example/rumor", "postgresql://me@db.example/rumor"),
        ("postgresql://db.example:5433/r?password=secret", "postgresql://db.example:5433/r"),
        ("postgres://me:se@cret@[::1]/r", "postgres://me@[::1]/r"),
        ("postgresql:///rumor?host=/run/postgresql", "postgresql:///rumor"),
    ):
        assert load_settings({"database": url}, {}).database_name == shown
    assert Settings(database=Path("/var/x.sqlite3")).database_name == "/var/x.sqlite3"
