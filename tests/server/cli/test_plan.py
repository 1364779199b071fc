"""The command `rumor plan`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rumor_server.cli.plan import main

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
        ([*BASE, "--max-bytes", "0"], "max_bytes: the shortest report has 1 byte"),
        ([*BASE, "--max-bytes", "-1"], "max_bytes: the shortest report has 1 byte"),
        (["--values", "1000000000000", *BASE[2:]], "values: no mechanism takes so many"),
        (["--values", "-5", *BASE[2:]], "values: say how many"),
        ([*BASE[:4], "--devices", "1" + "0" * 400], "devices: give 1 to 1000000000000"),
        ([*BASE[:4], "--accuracy", "1e-300"], "accuracy: is finer than any crowd can tell"),
        ([*BASE[:4], "--detect", "1e-320"], "detect: is finer than any crowd can tell"),
        ([*BASE[:4], "--accuracy", "0"], "accuracy: is a share between 0 and 1"),
        ([*BASE[:4], "--accuracy", "nan"], "accuracy: is a share between 0 and 1"),
        ([*BASE[:4], "--detect", "inf"], "detect: is a share between 0 and 1"),
        ([*BASE[:4], "--detect", "-0.1"], "detect: is a share between 0 and 1"),
    ],
)
def test_faults_are_told(argv: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong call names the option and what to do, on standard error, without a traceback."""
    assert main(argv) == 1
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("epsilon", "problem"),
    [
        ("nan", "is not a finite number"),
        ("-inf", "is not a finite number"),
        ("sNaN", "is not a finite number"),
        ("0", "is not above 0"),
        ("-1", "is not above 0"),
        ("0.0001", "is below .001"),
        ("1e-999999999", "has more than 6 decimals"),
        ("1.0000001", "has more than 6 decimals"),
        ("1e400", "is too large"),
        ("1e99999999999999999999", "is not a number"),
        ("1_0", "is not a number"),
        ("\u0661", "is not a number"),
        ("1,5", "is not a number"),
        ("", "is not a number"),
    ],
)
def test_an_epsilon_that_is_none_is_told_by_its_option(
    epsilon: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what is wrong with epsilon and what to do; no registry is spoken of."""
    assert main(["--values", "9", "--devices", "5", f"--epsilon={epsilon}"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"rumor plan: epsilon: {problem}")
    assert said.count("\n") == 1
    assert "registry" not in said


def test_table_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 columns no cell or heading is cut or folded, and each of the columns is explained."""
    monkeypatch.setattr("rumor_server.cli.typer_main._PIPED_WIDTH", 80)
    assert main(["--values", "1024", "--epsilon", "1", "--devices", "1000000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    (head,) = (line for line in lines if "mechanism " in line and "bytes" in line)
    for heading in ("std. deviation", "at worst", "found at 95%", "bytes", "forgery"):
        assert heading in head
    rows = lines[lines.index(head) + 2 : lines.index(head) + 11]
    assert all(len(row.split()) == 6 for row in rows), rows
    text = "\n".join(lines)
    for words in ("1,000,000 devices", "Found at 95%: ", "Forgery: ", "Decoding grows with k: "):
        assert words in text


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"\xff", "is not valid UTF-8"),
        (b"x = ", "TOML"),
        (b"x = " + b"9" * 5000, "too long to read"),
        (b"x = " + b"[" * 5000, "too long to read"),
    ],
    ids=lambda one: str(one)[:20],
)
def test_a_file_that_is_no_registry_is_named(
    body: bytes, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--write` says which file it is and where, and leaves it and its folder as they are."""
    file = tmp_path / "metrics.toml"
    file.write_bytes(body)
    assert main(["--write", str(file)]) == 1
    said = capsys.readouterr().err
    assert str(file) in said
    assert problem in said
    assert file.read_bytes() == body
    assert list(tmp_path.iterdir()) == [file]


def test_registry_is_settled_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--write` replaces "auto" and leaves no other file behind; a second time nothing changes."""
    file = tmp_path / "metrics.toml"
    file.write_bytes(
        b'[metrics.m]\r\nrevision = 1\r\nmechanism = "auto"\r\nepsilon = 1.0\r\n'
        b'values = ["a", "b"]\r\nowner = "o"\r\npurpose = "p"\r\nexpires = 2099-12-31\r\n'
    )
    assert main(["--write", str(file)]) == 0
    assert "m: krr" in capsys.readouterr().out
    settled = file.read_text()
    assert 'mechanism = "krr"' in settled
    assert file.read_bytes().count(b"\r\n") == file.read_bytes().count(b"\n") == 8
    assert main(["--write", str(file)]) == 0
    assert file.read_text() == settled
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.toml"]
    assert main(["--write", str(tmp_path / "none.toml")]) == 1


def test_memory_is_shown_beside(capsys: pytest.CaptureFixture[str]) -> None:
    """With an epsilon of life the mechanism with memory is told, never recommended."""
    facts = answer(capsys, *BASE, "--lifetime-epsilon", "2")
    memory = facts["memory"]
    assert isinstance(memory, dict)
    assert (memory["mechanism"], memory["lifetime_epsilon"]) == ("basic_rappor", "2")
    assert 0 < memory["standard_deviation"] < 1
    assert facts["recommended"] != "basic_rappor"
    assert main([*BASE, "--lifetime-epsilon", "2"]) == 0
    assert "With memory: basic_rappor" in capsys.readouterr().out
    assert main([*BASE, "--lifetime-epsilon", "0.5"]) == 0
    assert "basic_rappor can't be used" in capsys.readouterr().out
    assert main([*BASE, "--lifetime-epsilon", "0"]) == 1
    assert "lifetime_epsilon" in capsys.readouterr().err
