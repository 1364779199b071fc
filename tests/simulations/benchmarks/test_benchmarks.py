"""The bench: ratios, the page made of them, and what happens without a peer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import peers
from benchmarks.__main__ import app
from benchmarks.measures import estimation, imports, instructions, perturbation
from benchmarks.memory import added_mebibytes
from benchmarks.page import cells, page
from benchmarks.peer_programs import clients
from benchmarks.peers import UNAVAILABLE, PeerUnavailable
from benchmarks.row import Row, interleaved

PAGE = Path(__file__).parents[3] / "docs" / "performance.md"


@pytest.fixture
def no_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, and an installer that finds nothing."""

    def refuse(*_: object, **__: object) -> None:
        said = "ERROR: No matching distribution found for pure-ldp"
        raise subprocess.CalledProcessError(1, "pip", stderr=said)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("venv.create", refuse)
    monkeypatch.setattr(peers, "_made", peers._made.__wrapped__)
    return tmp_path


def test_a_ratio_is_ours_over_theirs_and_is_held_to_its_aim() -> None:
    """Ours over theirs, and whether that is within the aim; neither without a peer's value."""
    assert Row("a", 1.0, "s", "peer", 4.0).ratio == 0.25
    assert Row("a", 1.0, "s", "peer", 4.0).reached is None
    assert Row("a", 1.0, "s", "peer", 4.0, aim=0.25).reached is True
    assert Row("a", 1.0, "s", "peer", 4.0, aim=0.2).reached is False
    assert Row("a", 1.0, "s", "peer", aim=0.2).reached is None


def test_measures_take_turns() -> None:
    """Each measure is taken once a round, in order, so that all share what disturbs them."""
    order: list[str] = []

    def of(name: str) -> float:
        order.append(name)
        return float(len(order))

    assert interleaved([lambda: of("a"), lambda: of("b")], 2) == [[1.0, 3.0], [2.0, 4.0]]
    assert order == ["a", "b", "a", "b"]


def test_without_a_registry_rows_say_so(no_registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a peer that could not be installed name it as not available, and have ours."""
    with pytest.raises(PeerUnavailable) as caught:
        peers.peers_python()
    assert "No matching distribution" in caught.value.reason
    assert not any(no_registry.glob("rumor/*"))
    with peers.opened("clients", {}) as peer:
        assert peer is None
        assert peers.asked(peer, "pure-ldp krr") == []
    monkeypatch.setattr(imports, "_ROUNDS", 1)
    monkeypatch.setattr(imports, "_MEMORY_ROUNDS", 1)
    rows = imports.measure()
    missing = [row for row in rows if row.peer == f"import requests: {UNAVAILABLE}"]
    assert [row.ratio for row in missing] == [None] * len(imports._OURS)
    assert all(row.value > 0 for row in rows)


def test_peers_are_installed_at_their_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pin is installed once; only the one with a dashboard comes without what it asks for."""
    installed: list[list[str]] = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("venv.create", lambda folder, **_: Path(folder).mkdir(parents=True))
    monkeypatch.setattr(
        subprocess, "run", lambda words, **_: installed.append([str(word) for word in words])
    )
    peers._made.__wrapped__()
    together, alone = ([word for word in words if "==" in word] for words in installed)
    assert sorted(together + alone) == sorted(f"{name}=={pin}" for name, pin in peers.PINS.items())
    assert alone == [f"ldp-toolbox=={peers.PINS['ldp-toolbox']}"]
    assert ["--no-deps" in words for words in installed] == [False, True]


def test_peers_that_are_measured_have_a_program() -> None:
    """Each library that a measure names is pinned, and has clients to load."""
    assert set(perturbation._PEERS) == set(clients._LIBRARIES)
    assert set(perturbation._PEERS) | set(instructions._PEERS) <= set(peers.PINS)
    of_tallies = {library for libraries in estimation._PEERS.values() for library in libraries}
    assert of_tallies == set(perturbation._PEERS)


def test_a_peer_answers_from_its_own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is asked line by line, and one that ends is an error that names the call."""
    import sys

    monkeypatch.setattr(peers, "peers_python", lambda: sys.executable)
    counts = {"epsilon": 1.0, "counts": [3, 2], "cohorts": 4}
    with peers.Peer("servers", counts) as peer, pytest.raises(RuntimeError, match="'no such call'"):
        peer.seconds("no such call")


def test_memory_that_lines_add() -> None:
    """Sixty-four MiB that are written to show as such, of a fresh interpreter's own."""
    assert added_mebibytes("held = bytes(1)") < 16
    assert 60 < added_mebibytes("held = b'x' * (64 << 20)") < 80


def test_an_unknown_subject_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subject that isn't there is named, with those that are."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    result = CliRunner().invoke(
        app, ["--only", "nothing", "--output", str(tmp_path / "bench.json")]
    )
    assert result.exit_code == 2
    assert "nothing" in result.output


def test_a_part_does_not_write_the_page(
    no_registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--only` writes its JSON and leaves the page, which must come from one whole run."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(imports, "measure", lambda: [Row("a", 1.0, "s", "peer", 2.0)])
    output, written = tmp_path / "bench.json", tmp_path / "page.md"
    given = ["--only", "imports", "--output", str(output), "--write", str(written)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    document = json.loads(output.read_text("utf-8"))
    assert document["subjects"]["imports"]["rows"][0]["ratio"] == 0.5
    assert document["peers"] == peers.PINS
    assert not written.exists()


def test_the_page_marks_what_misses_its_aim() -> None:
    """A ratio beyond its aim is bold; a peer's missing value leaves cells empty."""
    missed = Row("a", 3000.0, "us", "peer", 1500.0, aim=1.0).as_json()
    assert cells(missed) == ["a", "3,000", "us", "peer", "1,500", "**2**", "1"]
    alone = Row("b", 0.01234, "s").as_json()
    assert cells(alone) == ["b", "0.0123", "s", "", "", "", ""]
    written = page(_document({"speed": {"what": "What is fast.", "rows": [missed, alone]}}))
    assert "## Speed\n\nWhat is fast.\n" in written
    assert "| a | 3,000 | us | peer | 1,500 | **2** | 1 |" in written
    assert "pure-ldp 1.2.0" in written
    assert "Not measured in this run." in page(_document({"x": {"what": "X.", "rows": []}}))


def test_the_page_in_the_documentation_is_of_these_pins() -> None:
    """The committed page names the versions that the bench pins, so it can't be of older peers."""
    written = PAGE.read_text("utf-8")
    for name, pinned in peers.PINS.items():
        assert f"{name} {pinned}" in written


def _document(subjects: dict[str, Any]) -> dict[str, Any]:
    return {
        "rumor": "0",
        "python": "3",
        "machine": "a machine",
        "versions": {"numpy": "2"},
        "peers": peers.PINS,
        "subjects": subjects,
    }
