"""What an app pays to import the client, beside numpy, which it would not want to pay for."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from statistics import median

from rumor_simulations.bench.row import Row, interleaved

# Enough for a median that does not move by a tenth on a busy machine; some ten seconds.
_ROUNDS = 15
_PEER = "import numpy"
# The package alone loads almost nothing; the second is what an app needs to make a client.
_OURS = ("import rumor_client", "from rumor_client import Client")
_PROGRAM = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def measure() -> list[Row]:
    """Import the client and numpy in fresh interpreters by turns; milliseconds, medians."""
    *ours, peer = interleaved([partial(_import_seconds, line) for line in (*_OURS, _PEER)], _ROUNDS)
    return [
        Row(line, median(taken) * 1e3, "ms", _PEER, median(peer) * 1e3)
        for line, taken in zip(_OURS, ours, strict=True)
    ]


def _import_seconds(line: str) -> float:
    printed = subprocess.run(  # noqa: S603  # this interpreter, our own words
        [sys.executable, "-c", _PROGRAM.format(line)], capture_output=True, check=True, text=True
    )
    return float(printed.stdout)
