"""Answer each line of JSON, a call's name and how often, with the mean seconds that it takes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping


def answer(calls: Mapping[str, Callable[[], object]]) -> None:
    """Measure what standard input asks for until it ends."""
    for line in sys.stdin:
        name, repeats = json.loads(line)
        call = calls[name]
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        sys.stdout.write(f"{(time.perf_counter() - start) / repeats}\n")
        sys.stdout.flush()
