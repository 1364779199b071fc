"""The command `rumor plan`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rumor_server.commands.plan import main

BASE = ["--values", "100", "--epsilon", "1", "--devices", "10000"]


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, object]:
    """What the command prints as JSON."""
    assert main([*argv, "--json"]) == 0
    printed: dict[str, object] = json.loads(capsys.readouterr().out)
    return printed


def test_every_mechanism_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    """The table names each mechanism, the one to take and those passed over."""
    assert main(BASE) == 0
    shown = capsys.readouterr().out
    for name in ("krr", "oue", "sue", "subset", "pgr", "hadamard", "local_hashing", "cms", "hcms"):
        assert f" {name} " in shown
    assert 'Take mechanism = "' in shown
    assert "Not krr: one forged report" in shown


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers are shares of 1, bytes and devices."""
    facts = answer(capsys, *BASE)
    assert (facts["values"], facts["epsilon"], facts["devices"]) == (100, "1", 10_000)
    rows = facts["options"]
    assert isinstance(rows, list)
    chosen = next(row for row in rows if row["mechanism"] == facts["recommended"])
    assert 0 < chosen["standard_deviation"] <= chosen["standard_deviation_worst"] < 1
    assert 0 < chosen["detectable_50"] < chosen["detectable_95"] < 1


def test_what_is_left_out_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """Without devices or epsilon, the one that reaches the accuracy is found."""
    facts = answer(capsys, "--values", "100", "--epsilon", "1", "--accuracy", "0.01")
    devices = facts["devices"]
    assert isinstance(devices, int)
    assert 30_000 < devices < 45_000
    back = answer(capsys, "--values", "100", "--devices", str(devices), "--accuracy", "0.01")
    assert 0.95 <= float(str(back["epsilon"])) <= 1
    facts = answer(capsys, "--values", "100", "--epsilon", "1", "--detect", "0.05")
    assert isinstance(facts["devices"], int)


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--values", "1", "--epsilon", "1", "--devices", "5"], "values"),
        ([*BASE, "--accuracy", "0.1"], "give two of the three"),
        (["--values", "9", "--epsilon", "1"], "give two of the three"),
        (["--values", "9", "--epsilon", "x", "--devices", "5"], "epsilon: is not a number"),
        (["--values", "9", "--epsilon", "99", "--devices", "5"], "epsilon: is above 16"),
        (["--values", "9", "--epsilon", "1", "--devices", "0"], "devices"),
        ([*BASE, "--accuracy", "0.1", "--detect", "0.1"], "detect: is given beside accuracy"),
        ([*BASE, "--max-bytes", "0"], "max_bytes"),
    ],
)
def test_faults_are_told(argv: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong call names the option and what to do, on standard error, without a traceback."""
    assert main(argv) == 1
    assert problem in capsys.readouterr().err


def test_registry_is_settled_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--write` replaces "auto" and leaves no other file behind; a second time nothing changes."""
    file = tmp_path / "metrics.toml"
    file.write_text(
        '[metrics.m]\nrevision = 1\nmechanism = "auto"\nepsilon = 1.0\nvalues = ["a", "b"]\n'
        'owner = "o"\npurpose = "p"\nexpires = 2099-12-31\n'
    )
    assert main(["--write", str(file)]) == 0
    assert "m: krr" in capsys.readouterr().out
    settled = file.read_text()
    assert 'mechanism = "krr"' in settled
    assert main(["--write", str(file)]) == 0
    assert file.read_text() == settled
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.toml"]
    assert main(["--write", str(tmp_path / "none.toml")]) == 1
