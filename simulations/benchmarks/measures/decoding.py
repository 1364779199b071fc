"""RAPPOR decoded against long candidate lists: 128 bits, 2 hashes, 64 cohorts, 10^6 devices.

Each decode is a process of its own, so its peak of memory is its alone, interpreter, libraries and
the candidates' texts included. f = p = .25, q = .75; 1000 candidates are present, with shares as
1 / rank. The lists grow tenfold: near-linear growth is a ratio of about 10.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from statistics import median

from benchmarks.fresh_decode import BITS, COHORTS
from benchmarks.row import Row, interleaved

# How often each list is decoded: the longest takes a minute.
_ROUNDS = {10_000: 2, 100_000: 2, 1_000_000: 1}
# The most that a decode of so many candidates may take.
_LIMITED = 100_000
_LIMIT_MEBIBYTES = 2048.0
# What is called near-linear.
_GROWTH_AIM = 12.0


def measure() -> list[Row]:
    """Decode each list; seconds and MiB, medians."""
    seconds: dict[int, float] = {}
    mebibytes: dict[int, float] = {}
    for candidates, rounds in _ROUNDS.items():
        (taken,) = interleaved([partial(_decode, candidates)], rounds)
        seconds[candidates] = median(took for took, _ in taken)
        mebibytes[candidates] = max(peak for _, peak in taken)
    rows = []
    before: int | None = None
    for candidates in _ROUNDS:
        what = f"decode {candidates:,} candidates x {BITS} bits x {COHORTS} cohorts"
        if before is None:
            rows.append(Row(what, seconds[candidates], "s"))
        else:
            peer = f"{before:,} candidates"
            rows.append(Row(what, seconds[candidates], "s", peer, seconds[before], aim=_GROWTH_AIM))
        limit = ("limit", _LIMIT_MEBIBYTES, 1.0) if candidates == _LIMITED else (None, None, None)
        rows.append(
            Row(f"its peak of memory, {candidates:,}", mebibytes[candidates], "MiB", *limit)
        )
        before = candidates
    return rows


def _decode(candidates: int) -> tuple[float, float]:
    printed = subprocess.run(  # noqa: S603  # this interpreter, a module of our own
        [sys.executable, "-m", "benchmarks.fresh_decode", str(candidates)],
        capture_output=True,
        check=True,
        text=True,
    )
    took, peak = json.loads(printed.stdout)
    return took, peak
