"""`rumor init`: what a beginner is given, and that nothing of theirs is lost."""

import ast
import tomllib
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from tests.docs.blocks import HOUSE

from rumor_server.access import Scope
from rumor_server.cli import init
from rumor_server.cli.starter import APP, CROWD, REGISTRY, SETTINGS, starter_files
from rumor_server.operations.keyring import find_key
from rumor_server.settings import Settings, load_settings
from rumor_server.storage.keys import list_keys
from rumor_server.storage.operator_tables import Control
from rumor_shared.epsilon import MICRO
from rumor_shared.registry import load_registry, parse_registry

TODAY = date(2026, 11, 30)


def test_writes_a_sound_registry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The registry has no fault and no warning, lasts a year, and asks for epsilon 1 a report."""
    assert init.main([str(tmp_path)]) == 0
    registry = load_registry(tmp_path / REGISTRY)
    assert registry.warnings() == ()
    assert {m.mechanism.epsilon_report for m in registry.metrics.values()} == {MICRO}
    assert f"wrote {tmp_path / REGISTRY}" in capsys.readouterr().out


def test_metrics_last_a_year() -> None:
    """Metrics expire a year after the day on which they were begun."""
    registry = parse_registry(starter_files(TODAY, "http://localhost:8000")[REGISTRY].encode())
    assert {m.expires for m in registry.metrics.values()} == {date(2027, 11, 30)}


def test_open_question_needs_its_comment_signs_taken_away_alone() -> None:
    """The metric that is commented out is sound too."""
    text = starter_files(TODAY, "http://localhost:8000")[REGISTRY]
    head, mark, rest = text.partition("# [metrics.start-page]")
    assert mark
    lines = (mark + rest).splitlines()
    opened = "\n".join([head, *(line.removeprefix("# ") for line in lines)])
    assert "start-page" in parse_registry(opened.encode()).metrics


@pytest.mark.parametrize("name", [APP, CROWD])
def test_programs_are_programs(name: str) -> None:
    """What is written is Python, whatever stands in the address and the key."""
    texts = starter_files(TODAY, 'http://localhost:1/"', 'a"key')
    tree = ast.parse(texts[name])
    words = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert {'http://localhost:1/"', 'a"key'} <= {word for word in words if isinstance(word, str)}


def test_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is there already is named, and nothing is written."""
    (tmp_path / CROWD).write_text("mine", "utf-8")
    assert init.main([str(tmp_path)]) == 1
    assert [path.name for path in tmp_path.iterdir()] == [CROWD]
    assert (tmp_path / CROWD).read_text("utf-8") == "mine"
    assert CROWD in capsys.readouterr().err


def test_keys_open_what_they_should(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --keys the app holds a valid ingest key, the analyst's is shown, and both are asked
    for.
    """
    assert init.main([str(tmp_path), "--keys"]) == 0
    shown = {
        line.split()[0]: line.split()[-1]
        for line in capsys.readouterr().out.splitlines()
        if " key, not shown again: " in line
    }
    settings = Settings(database=tmp_path / "rumor.sqlite3")
    with closing(Control(settings)) as control:
        keys = {key.id: key for key in list_keys(control)}
    for name, scope in (("ingest", Scope.INGEST), ("analyst", Scope.ANALYST)):
        key = find_key(keys, shown[name])
        assert key is not None
        assert key.scope is scope
    assert f'key="{shown["ingest"]}"' in (tmp_path / APP).read_text("utf-8")
    assert shown["analyst"] not in "".join(p.read_text("utf-8") for p in tmp_path.glob("*.py"))
    loaded = load_settings({}, {}, tmp_path / SETTINGS)
    assert (loaded.ingest_access, loaded.read_access) == ("key", "key")
    assert tomllib.loads((tmp_path / SETTINGS).read_text("utf-8"))


def test_writes_the_samples_for_operators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --deploy the files of deploy/ are written, byte by byte, and none twice."""
    assert init.main([str(tmp_path), "--deploy"]) == 0
    assert f"wrote {tmp_path / 'rumor.service'}" in capsys.readouterr().out
    written = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    samples = HOUSE / "deploy"
    assert written == {
        p.relative_to(samples): p.read_bytes() for p in samples.rglob("*") if p.is_file()
    }
    assert init.main([str(tmp_path), "--deploy"]) == 1
    assert "there already" in capsys.readouterr().err


def test_keys_touch_no_database_that_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --keys a database that is there already is left alone."""
    (tmp_path / "rumor.sqlite3").touch()
    assert init.main([str(tmp_path), "--keys"]) == 1
    assert "rumor.sqlite3" in capsys.readouterr().err
    assert (tmp_path / "rumor.sqlite3").stat().st_size == 0
