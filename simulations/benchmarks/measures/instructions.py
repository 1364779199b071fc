"""Instructions of what is too short to time on a busy machine, counted by valgrind's callgrind.

A count hardly depends on what else runs: repeated, it differs by a hundredth, for draws differ. The
kernel's part, such as that of `os.urandom`, is not in it, and an instruction is not a time. Each
call is made N and 2N times in a fresh process of its library, and the difference is divided by N,
so that the start does not count; an import is counted from just before it to just after. Settings
are those of Perturbation; RAPPOR's is the instantaneous response alone. multi-freq-ldpy and
ldp-toolbox are missing: they are compiled as they run, which takes minutes a function under this
tool. All of it takes some two minutes on two free processors. Without valgrind nothing is counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from benchmarks import callgrind
from benchmarks.measures.perturbation import PEER_SETTING
from benchmarks.own_calls import DECODE, SCREEN
from benchmarks.peer_programs.answering import MARKED_BY
from benchmarks.peers import (
    FOLDER,
    UNAVAILABLE,
    PeerUnavailable,
    command,
    peers_python,
)
from benchmarks.row import Row

_FLOORS = {"binary": "os.urandom(1)", "krr": "os.urandom(1)", "rappor": "os.urandom(16)"}
_KINDS = {"rappor": ", its instantaneous response"}
# A draw takes more digits or fewer: the mean of as many is within a hundredth or two.
_REPEATS = 1000
# opendp's calls are a hundred times as long.
_PEERS = {"pure-ldp": _REPEATS, "opendp": 50}
_IMPORT = "from rumor_client import Client"
_NUMPY, _REQUESTS = "import numpy", "import requests"
_UNIT = "instr."

Counts = dict[str, float]


def measure() -> list[Row]:
    """Count the instructions of a call, or of an import; of nothing without valgrind."""
    if not callgrind.can_count():
        return []
    counts: Counts = {}
    # As many programs at once as there are processors: a count doesn't mind.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for counted in pool.map(lambda job: job(), [*_of_peers(), *_of_ours()]):
            counts |= counted
    return [*_perturbations(counts), *_others(counts)]


def _of_ours() -> list[Callable[[], Counts]]:
    words = [sys.executable, "-m", "benchmarks.own_calls"]
    names = [*_FLOORS, *dict.fromkeys(_FLOORS.values()), SCREEN, DECODE]
    # numpy is the one that we run on.
    imports = [partial(_of_import, sys.executable, line) for line in (_IMPORT, _NUMPY)]
    return [partial(callgrind.each, words, names, _REPEATS), *imports]


def _of_peers() -> list[Callable[[], Counts]]:
    try:
        python = str(peers_python())
    except PeerUnavailable:
        return []
    jobs: list[Callable[[], Counts]] = []
    for library, repeats in _PEERS.items():
        words = command("clients", PEER_SETTING | {"libraries": [library]})
        names = [f"{library} {name}" for name in _FLOORS]
        jobs.append(partial(callgrind.each, words, names, repeats, FOLDER))
    return [*jobs, partial(_of_import, python, _REQUESTS)]


def _of_import(python: str, line: str) -> Counts:
    mark = f"os.{MARKED_BY}(0)"
    # The first import would compile the files that the second finds compiled.
    subprocess.run([python, "-c", line], check=True)  # noqa: S603  # a line of our own
    _, counted = callgrind.between_marks([python, "-c", f"import os; {mark}; {line}; {mark}"])
    return {line: counted}


def _perturbations(counts: Counts) -> list[Row]:
    rows = []
    for name, floor in _FLOORS.items():
        what = f"perturb, {name}{_KINDS.get(name, '')}"
        rows.append(Row(what, counts[name], _UNIT, floor, counts[floor]))
        rows += [_compared(what, counts[name], one, counts.get(f"{one} {name}")) for one in _PEERS]
    return rows


def _others(counts: Counts) -> list[Row]:
    imports = [(_NUMPY, counts[_NUMPY]), (_REQUESTS, counts.get(_REQUESTS))]
    return [
        _compared(SCREEN, counts[SCREEN], DECODE, counts[DECODE]),
        *(_compared(_IMPORT, counts[_IMPORT], line, theirs) for line, theirs in imports),
    ]


def _compared(what: str, value: float, peer: str, theirs: float | None) -> Row:
    return Row(what, value, _UNIT, peer if theirs else f"{peer}: {UNAVAILABLE}", theirs)
