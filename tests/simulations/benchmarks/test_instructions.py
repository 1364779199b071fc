"""Instructions counted by valgrind, and what the bench says without it or without peers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import callgrind
from benchmarks.measures import instructions
from benchmarks.own_calls import DECODE, SCREEN, calls
from benchmarks.peer_programs.answering import MARKED_BY
from benchmarks.peers import UNAVAILABLE, PeerUnavailable

needs_valgrind = pytest.mark.skipif(not callgrind.can_count(), reason="needs valgrind on the PATH")

_PROGRAM = """
from benchmarks.peer_programs.answering import answer
some, compiled = range(2000), []

def once():
    sum(some)

def twice():
    sum(some)
    sum(some)

def slow_at_first():
    if not compiled:
        compiled.append(sum(range(200000)))
    sum(some)

answer({"once": once, "twice": twice, "slow at first": slow_at_first})
"""


@needs_valgrind
def test_a_call_is_counted_without_its_start() -> None:
    """Twice the work is twice the count, and what only the first call does is not in it."""
    words = [sys.executable, "-c", _PROGRAM]
    counted = callgrind.each(words, ["once", "twice", "slow at first"], 20)
    # Each adds up 2000 numbers, some forty instructions apiece.
    assert 10_000 < counted["once"] < 1_000_000
    assert counted["twice"] / counted["once"] == pytest.approx(2, rel=0.1)
    assert counted["slow at first"] / counted["once"] == pytest.approx(1, rel=0.1)


@needs_valgrind
def test_each_mark_ends_a_part() -> None:
    """A program that marks twice has two parts, and nothing after the second is counted."""
    mark = f"os.{MARKED_BY}(0)"
    program = f"import os; {mark}; sum(range(2000)); {mark}; sum(range(10 ** 6))"
    start, between = callgrind.between_marks([sys.executable, "-c", program])
    assert between < start
    assert 10_000 < between < 1_000_000


@needs_valgrind
def test_a_program_that_fails_is_no_count() -> None:
    """A program that ends with an error is one here too, with its last words."""
    with pytest.raises(RuntimeError, match="no such luck"):
        callgrind.between_marks([sys.executable, "-c", "raise SystemExit('no such luck')"])


def test_without_valgrind_nothing_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the tool isn't installed the subject has no rows."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert instructions.measure() == []


def test_without_peers_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours are counted beside their floors, and a peer that isn't installed is named as such."""

    def refuse() -> Path:
        raise PeerUnavailable("no registry")

    monkeypatch.setattr(instructions, "peers_python", refuse)
    monkeypatch.setattr(callgrind, "can_count", lambda: True)
    monkeypatch.setattr(callgrind, "each", lambda _, names, repeats: dict.fromkeys(names, repeats))
    monkeypatch.setattr(callgrind, "between_marks", lambda _: [7, 11])
    rows = instructions.measure()
    missing = [row.peer for row in rows if row.ratio is None]
    libraries = ["pure-ldp", "opendp"]
    assert missing == [f"{one}: {UNAVAILABLE}" for one in [*libraries * 3, "import requests"]]
    assert {row.ratio for row in rows if row.peer_value} == {1.0}
    assert len(rows) == 12


def test_our_short_calls_can_be_made() -> None:
    """What is counted does what it says: answers, bytes, a batch that was screened."""
    made: dict[str, Any] = {name: call() for name, call in calls().items()}
    assert made["os.urandom(16)"] != made["os.urandom(1)"]
    sizes = {name: len(made[name]) for name in instructions._FLOORS}
    assert sizes == {"binary": 1, "krr": 1, "rappor": 16}
    assert made[DECODE]["sdk"] == "bench/1"
    assert len(made[SCREEN].outcomes) == 1
