"""What the simulations' commands say, and how soon: lines for a log, help without boxes."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from tests.docs.blocks import HOUSE
from tests.harness.collector_process import RUMOR

from rumor_simulations.commands.progress import progress
from rumor_simulations.populations import POPULATION_NAMES
from rumor_simulations.populations.named import POPULATIONS
from rumor_simulations.sweep.experiments import EXPERIMENTS
from rumor_simulations.sweep.setting import EXPERIMENT_NAMES

LONG_NAME = """
[metrics.a-metric-with-a-rather-long-name-that-nobody-would-type-twice]
revision = 1
mechanism = "krr"
epsilon = 1.0
values = ["one", "two", "three"]
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31
"""


@pytest.mark.parametrize("command", ["simulate", "attack", "audit", "demo"])
def test_help_is_plain(command: str) -> None:
    """Help has no box, and no line beyond 80 columns."""
    done = subprocess.run(
        [RUMOR, command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert not re.search(r"[─│╭╮╰╯]", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "epsilon", "--quick", "--mechanism", "krr", "--out", "simulated"),
        ("attack", str(HOUSE / "examples" / "metrics.toml"), "--devices", "100"),
        ("demo", "--devices", "100"),
    ],
)
def test_first_line_comes_soon(words: tuple[str, ...], tmp_path: Path) -> None:
    """Where no terminal is, something is said before what is needed is loaded, and at the end.

    Two seconds on a free machine; this one may be shared.
    """
    start = time.monotonic()
    with subprocess.Popen(
        [RUMOR, *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        took = time.monotonic() - start
        rest = process.stderr.read().splitlines()
    assert first.startswith(f"rumor {words[0]}: ")
    assert took < 10
    assert process.returncode == 0, rest
    assert re.search(r": ([\d,]+) of \1$", rest[-1])


def test_tables_fit_a_terminal(tmp_path: Path) -> None:
    """The tables of an attack have at most 80 columns, whatever a metric is called."""
    (tmp_path / "metrics.toml").write_text(LONG_NAME, "utf-8")
    done = subprocess.run(
        [RUMOR, "attack", "metrics.toml", "--devices", "100"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert max(map(len, done.stdout.splitlines())) <= 80
    # The name is folded, not cut.
    assert "twice" in done.stdout


def test_names_are_those_of_what_is_loaded_later() -> None:
    """The names that help shows without loading anything are those that there are."""
    assert tuple(EXPERIMENTS) == EXPERIMENT_NAMES
    assert tuple(POPULATIONS) == POPULATION_NAMES


def test_a_log_gets_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line at once, one when ten seconds have passed, and one at the end; no bar."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with progress("simulate", "runs", 4) as advance:
        for step in (1.0, 11.0, 12.0, 13.0):
            now[0] = step
            advance(1)
    assert capsys.readouterr().err.splitlines() == [
        "rumor simulate: runs: 0 of 4",
        "rumor simulate: runs: 2 of 4",
        "rumor simulate: runs: 4 of 4",
    ]
