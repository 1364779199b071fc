"""`rumor registry` and `rumor serve` as commands: words in, exit code out."""

from pathlib import Path

import pytest
from tests.harness.collector import REGISTRY
from tests.harness.collector import registry as parse

from rumor_server.cli import registry, serve
from rumor_server.storage.sqlite.store import SqliteStore

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31").replace("2026-11-28", "2999-12-31")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A registry file without fault."""
    path = tmp_path / "metrics.toml"
    path.write_text(LASTING, "utf-8")
    return path


def test_prints_what_each_metric_costs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`registry check` prints epsilon a report, a day and for life, as charged."""
    assert registry.main(["check", str(file)]) == 0
    out = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert rows["theme"] == ["1", "krr", "1", "10", "unbounded", "2999-12-31"]
    assert rows["page"][:2] == ["3", "rappor"]
    assert rows["page"][4] == "4.39445"
    assert "at most 20 a day" in out
    assert "warning: metrics.page.expected_devices" in out
    assert "note: metrics.page.max_values: lets answers of up to 1 value a device be" in out


def test_prints_every_problem_of_a_wrong_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong file exits 1 with one line for each metric that is wrong, by the field's path."""
    file.write_text(LASTING.replace("epsilon = 1.0", "epsilon = -1.0"), "utf-8")
    assert registry.main(["check", str(file)]) == 1
    err = capsys.readouterr().err
    assert "metrics.theme.epsilon: is not above 0" in err
    assert "metrics.old.epsilon: is not above 0" in err


def test_fails_for_an_expired_metric(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A metric past its last day is told, and the exit code says so."""
    file.write_text(LASTING.replace("2999-12-31", "2020-01-01", 1), "utf-8")
    assert registry.main(["check", str(file)]) == 1
    captured = capsys.readouterr()
    assert "metrics.theme.expires: was 2020-01-01" in captured.err
    assert "theme" in captured.out


def test_lists_mechanisms(capsys: pytest.CaptureFixture[str]) -> None:
    """`registry mechanisms` names everything a metric may name, and what it is."""
    assert registry.main(["mechanisms"]) == 0
    out = capsys.readouterr().out
    for name in ("krr", "sue, oue", "rappor, basic_rappor", "binary"):
        assert f"{name}: " in out


@pytest.mark.parametrize(
    ("main", "words", "code"),
    [
        (registry.main, ["check", "no-such-file.toml"], 1),
        (registry.main, ["chekc"], 2),
        (registry.main, ["check"], 2),
        (registry.main, ["--help"], 0),
        (serve.main, ["--help"], 0),
        (serve.main, ["--prot", "80"], 2),
        (serve.main, ["--registry", "no-such-file.toml"], 1),
        (serve.main, ["--port", "70000"], 1),
    ],
)
def test_returns_an_exit_code(main: object, words: list[str], code: int) -> None:
    """A wrong call is 2, a failure 1, help 0, and nothing is raised."""
    assert callable(main)
    assert main(words) == code


def test_does_not_serve_a_changed_meaning(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CF-01: a registry that changes a metric under its old revision does not start."""
    database = tmp_path / "rumor.sqlite3"
    store = SqliteStore(database)
    store.declare(parse(LASTING))
    store.close()
    file.write_text(LASTING.replace("epsilon = 1.0\ndaily", "epsilon = 2.0\ndaily"), "utf-8")
    words = ["--registry", str(file), "--database", str(database), "--port", "0"]
    assert serve.main(words) == 1
    assert "metrics.theme.revision" in capsys.readouterr().err
