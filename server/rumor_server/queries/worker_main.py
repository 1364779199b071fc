"""What a worker runs: `python -m rumor_server.queries.worker_main`, jobs in, results out.

Each is a pickle after its length. What a job prints goes to standard error: standard output holds
results alone.
"""

from __future__ import annotations

import os
import pickle
import resource
import sys
from contextlib import suppress

from rumor_server.queries.workers import LENGTH

# A decode of 10^5 candidates takes a quarter of it; libraries reserve the rest without using it.
MEMORY_BYTES = 4 << 30
_NICENESS = 10


def main() -> None:
    """Answer jobs until standard input ends."""
    jobs = sys.stdin.buffer
    # Descriptors, because libraries of C write to them.
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(OSError):
        os.nice(_NICENESS)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    while head := jobs.read(LENGTH.size):
        body = jobs.read(LENGTH.unpack(head)[0])
        answer = _answered(body)
        results.write(LENGTH.pack(len(answer)) + answer)
        results.flush()


def _answered(body: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(body)  # noqa: S301 - from our parent
        return pickle.dumps((True, function(*args, **kwargs)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main()
