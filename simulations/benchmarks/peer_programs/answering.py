"""Answer each line of JSON, a call's name and how often, with the mean seconds that it takes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping

# What each program answers besides its own calls: next to nothing, and by a function of the C
# library that nothing else here calls, so that who counts instructions sees when.
MARK = "mark"
MARKED_BY = "getsid"


def answer(calls: Mapping[str, Callable[[], object]]) -> None:
    """Measure what standard input asks for until it ends."""
    for line in sys.stdin:
        name, repeats = json.loads(line)
        call = mark if name == MARK else calls[name]
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        sys.stdout.write(f"{(time.perf_counter() - start) / repeats}\n")
        sys.stdout.flush()


def mark() -> None:
    """Say when, to who counts instructions."""
    os.getsid(0)
