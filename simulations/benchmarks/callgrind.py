"""How many instructions a call takes, counted by valgrind's callgrind: other work can't shift it.

The system calls' part, which the kernel does, is not counted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.peer_programs.answering import MARK, MARKED_BY

_TOOL = "valgrind"
_COUNT = "summary: "


def can_count() -> bool:
    """Return whether valgrind is on the PATH."""
    return shutil.which(_TOOL) is not None


def each(
    words: Sequence[str], calls: Iterable[str], repeats: int, folder: Path | None = None
) -> dict[str, float]:
    """Return the instructions of each call of a program that answers as `peer_programs` do.

    A call is made `repeats` times, to compile and load what it needs, then as often again, then
    twice as often. The last two counts' difference has neither the program's start in it nor
    what asking and answering cost. Raises RuntimeError as `between_marks` does.
    """
    asked = [one for name in calls for one in _questions(name, repeats)]
    lines = "".join(json.dumps(one) + "\n" for one in asked)
    parts = between_marks(words, lines, folder)
    if len(parts) != sum(name == MARK for name, _ in asked):
        raise RuntimeError(f"callgrind saw {len(parts)} marks; is {MARKED_BY} in the C library?")
    once, twice = parts[1::3], parts[2::3]
    return {
        name: (more - less) / repeats for name, less, more in zip(calls, once, twice, strict=True)
    }


def between_marks(words: Sequence[str], lines: str = "", folder: Path | None = None) -> list[int]:
    """Run a program with these lines to read; return its instructions up to each mark it made.

    Raises RuntimeError with the program's last words if it fails.
    """
    with tempfile.TemporaryDirectory(prefix="rumor-bench-") as name:
        out = Path(name) / "part"
        tool = [_TOOL, "--tool=callgrind", f"--callgrind-out-file={out}"]
        ran = subprocess.run(  # noqa: S603  # a tool and a program of our own choice
            [*tool, f"--dump-before={MARKED_BY}", *words],
            # Sets and dicts of text in the same order each time.
            env=os.environ | {"PYTHONHASHSEED": "0"},
            input=lines,
            cwd=folder,
            capture_output=True,
            check=False,
            text=True,
        )
        if ran.returncode:
            raise RuntimeError(f"{words[0]} under callgrind: {ran.stderr[-500:]}")
        count = len(list(Path(name).glob("part.*")))
        return [_counted(Path(f"{out}.{part}")) for part in range(1, count + 1)]


def _questions(name: str, repeats: int) -> list[tuple[str, int]]:
    return [(name, repeats), (MARK, 1), (name, repeats), (MARK, 1), (name, 2 * repeats), (MARK, 1)]


def _counted(part: Path) -> int:
    with part.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(_COUNT):
                return int(line.removeprefix(_COUNT))
    raise RuntimeError("callgrind wrote no count")
