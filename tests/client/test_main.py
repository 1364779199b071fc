"""What the owner sees in a terminal."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.client.test_public import REGISTRY

from rumor_client import Client
from rumor_client.__main__ import main
from rumor_client.state.sqlite_schema import APPLICATION_ID, SCHEMA_VERSION
from rumor_client.testing import FakeCollector


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Arguments that name a registry and a state."""
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    monkeypatch.delenv("RUMOR_CONSENT", raising=False)
    (tmp_path / "metrics.toml").write_text(REGISTRY)
    return ["--registry", str(tmp_path / "metrics.toml"), "--state", str(tmp_path / "state")]


def test_consent_is_shown_granted_and_denied(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each choice is followed, shown with its source, and outdone by the environment."""
    with Client(arguments[1], state=arguments[3], background=False) as client:
        client.status()
    shown = []
    for choice in ("show", "grant", "deny"):
        assert main([*arguments, "consent", choice]) == 0
        shown.append(capsys.readouterr().out)
    assert "unset (from default)" in shown[0]
    assert "granted (from stored, since" in shown[1]
    assert "denied (from stored, since" in shown[2]
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    main([*arguments, "consent", "grant"])
    assert "denied (from DO_NOT_TRACK)" in capsys.readouterr().out


def test_status_and_view_show_what_was_and_will_be_sent(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Spend in plain words, and every report as bytes, sent and waiting."""
    main([*arguments, "consent", "grant"])
    with Client(
        arguments[1],
        "http://collector.invalid",
        state=arguments[3],
        transport=FakeCollector(),
        background=False,
    ) as client:
        assert client.record("theme", "dark").recorded
        report = client.waiting()[0].report
        assert main([*arguments, "view"]) == 0
        shown = capsys.readouterr().out
        assert f"payload  {report.payload.hex()}" in shown
        assert f"says     {client.view()[0].meaning}" in shown
        client.flush()
        main([*arguments, "view"])
        assert "accepted" in capsys.readouterr().out
    assert main([*arguments, "status"]) == 0
    out = capsys.readouterr().out
    assert "spent today    epsilon 1 (cap 1)" in out
    assert "at most a factor of 2.72" in out
    assert "waiting        0 reports" in out


def test_a_wrong_call_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A missing registry, a broken one and an unknown purpose are named, without a traceback."""
    (tmp_path / "broken.toml").write_text("[metrics.theme]")
    for registry in ("missing.toml", "broken.toml"):
        changed = ["--registry", str(tmp_path / registry), *arguments[2:]]
        assert main([*changed, "status"]) == 2
        assert registry in capsys.readouterr().err
    assert main([*arguments, "consent", "grant", "--purpose", "advertising"]) == 2
    assert "product improvement" in capsys.readouterr().err


def test_a_state_that_cant_be_used_exits_with_1(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A place where no file can be is said, without a traceback."""
    (tmp_path / "state").mkdir()
    for words in (["status"], ["consent", "grant"]):
        assert main([*arguments, *words]) == 1
        assert (
            capsys.readouterr().err == f"rumor device: {arguments[3]}: is a folder; give a file\n"
        )


LOOKING = (["status"], ["view"], ["consent"], ["consent", "show"], ["forget"])


def everything(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """What lies in a folder: names, modes and bytes."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode,
            path.read_bytes() if path.is_file() else None,
        )
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
@pytest.mark.parametrize("place", ["state", "nowhere/state", "metrics.toml/state"])
def test_looking_makes_no_state(
    words: list[str],
    place: str,
    arguments: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where there is no state, whoever asks is told so with the path, and none is made."""
    before = everything(tmp_path)
    arguments[3] = str(tmp_path / place)
    assert main([*arguments, *words]) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"rumor device: {arguments[3]}: there is no state;")
    assert said.out == ""
    assert everything(tmp_path) == before


def empty(path: Path) -> None:
    """A file without a byte."""
    path.touch()


def notes(path: Path) -> None:
    """A text of somebody's."""
    path.write_text("important notes, not to be lost\n" * 100)


def theirs(path: Path) -> None:
    """Another program's database."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE accounts (name TEXT)")


def collectors(path: Path) -> None:
    """What bears our own mark and is no state: a collector's database has other tables."""
    theirs(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def later(path: Path) -> None:
    """A state of a later release."""
    with Client(path.with_name("metrics.toml"), state=path, background=False) as client:
        client.status()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


@pytest.mark.parametrize("words", [*LOOKING, ["consent", "grant"], ["consent", "deny"]], ids=str)
@pytest.mark.parametrize("make", [empty, notes, theirs, collectors, later])
def test_a_file_that_is_no_state_is_left_alone(
    words: list[str],
    make: Callable[[Path], None],
    arguments: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No command of the owner's renames, changes or replaces what isn't a state that it knows."""
    make(Path(arguments[3]))
    Path(arguments[3]).chmod(0o644)
    before = everything(tmp_path)
    assert main([*arguments, *words]) == 1
    said = capsys.readouterr()
    assert arguments[3] in said.err
    assert said.out == ""
    assert everything(tmp_path) == before


@pytest.mark.parametrize("choice", ["grant", "deny"])
def test_a_choice_before_the_app_has_run_is_kept(
    choice: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A choice makes the state that the app will find, and says that it did: it may be a typo."""
    assert main([*arguments, "consent", choice]) == 0
    assert capsys.readouterr().err == (
        f"rumor device: {arguments[3]}: makes a state, since there is none\n"
    )
    with Client(arguments[1], state=arguments[3], background=False, environ={}) as client:
        (purpose,) = client.consent.purposes
        assert client.consent.effective(purpose).source == "stored"
        assert client.consent.is_granted(purpose) is (choice == "grant")


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "1e400", "soon"])
def test_a_wait_without_an_end_is_refused(
    seconds: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`forget --timeout` takes seconds, and nothing is forgotten for what is none."""
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "forget", "--timeout", seconds])
    assert stop.value.code == 2
    assert "--timeout: give a number of seconds from 0" in capsys.readouterr().err
