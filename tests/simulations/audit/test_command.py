"""`rumor audit` prints what it found, and its exit code says whether every claim holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.harness import device_faults
from tests.harness.device_faults import SOURCE_FAULTS
from tests.harness.mechanism_faults import FAULTS, planted

from rumor_simulations.commands.audit import main

REGISTRY = """
[metrics.theme]
revision = 1
mechanism = "oue"
epsilon = 1.0
values = ["light", "dark", "system"]
owner = "o"
purpose = "p"
expires = 2099-01-01
"""


@pytest.fixture
def registry(tmp_path: Path) -> str:
    """A registry of one metric."""
    path = tmp_path / "registry.toml"
    path.write_text(REGISTRY)
    return str(path)


def test_certificate_is_printed(registry: str, capsys: pytest.CaptureFixture[str]) -> None:
    """R-02: what the exact law costs is printed as epsilon, not as a fraction of 75 digits."""
    assert main([registry, "--trials", "0"]) == 0
    printed = capsys.readouterr().out
    assert "theme, one report: epsilon 1.000000, exactly the declared law" in printed
    assert not re.search(r"\d{15}", printed)
    assert "holds" in printed
    assert "kept   a fork repeats no noise" in printed


def test_json_is_one_object(registry: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints bounds, certificate and pipeline for programs; two processes share the work."""
    assert main([registry, "--trials", "2000", "--json", "--processes", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    (finding,) = document["findings"]
    assert finding["certificate"]["micro_epsilon"] == 1_000_000
    assert finding["low"] < 1 < finding["high"]
    assert all(check["fault"] is None for check in document["pipeline"])


def test_fault_ends_with_one(registry: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An installed client that gives away too much is named, and the exit code is 1."""
    with planted(*FAULTS["last bit of the vector in clear"]):
        assert main([registry, "--trials", "0"]) == 1
    printed = capsys.readouterr().out
    assert "FALSE" in printed
    assert "possible under one value and impossible under another" in printed


def test_generator_of_its_own_ends_with_one(
    registry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """S-01: a client that seeds a generator with the clock fails without a single trial."""
    with device_faults.planted(SOURCE_FAULTS["generator seeded with the clock"]):
        assert main([registry, "--trials", "0"]) == 1
    assert "BROKEN the operating system's randomness alone decides" in capsys.readouterr().out


def test_what_nothing_speaks_for_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A claim that is neither enumerated nor attacked is not said to hold."""
    path = tmp_path / "registry.toml"
    # Google's clients spend a byte of chance a bit: too many outcomes at any size.
    path.write_text(
        '[metrics.m]\nrevision = 1\nmechanism = "rappor"\nbits = 16\nf = 0.5\np = 0.25\nq = 0.75\n'
        'hashing = "rappor_md5"\nclient = "python"\nmax_values = 1\n'
        'owner = "o"\npurpose = "p"\nexpires = 2099-01-01\n'
    )
    assert main([str(path), "--trials", "0"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("unknown") == 2
    assert "holds" not in printed


def test_wrong_registry_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A registry that can't be read ends with 2 and the reason."""
    assert main([str(tmp_path / "absent.toml")]) == 2
    assert "absent.toml" in capsys.readouterr().err
