"""What an app pays to import the client, in time and memory, beside numpy and requests.

Each import is in a fresh interpreter. The first line loads almost nothing; the second is what an
app needs to make a client; the memory row also makes one, with a state file, and records once.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

from rumor_simulations.bench.memory import added_mebibytes
from rumor_simulations.bench.peers import UNAVAILABLE, PeerUnavailable, peers_python
from rumor_simulations.bench.row import Row, interleaved

# Enough for a median that does not move by a tenth on a busy machine; some ten seconds.
_ROUNDS = 15
# Memory hardly varies.
_MEMORY_ROUNDS = 3
# Of numpy's time: a third is what a client may cost that nobody need fear.
_AIM = 1 / 3
_OURS = ("import rumor_client", "from rumor_client import Client")
_PEERS = ("import numpy", "import requests")
_PROGRAM = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
_RECORD = """
import tempfile
from datetime import date
from pathlib import Path
from rumor_client import Client
from rumor_shared.registry import registry_of
theme = {"revision": 1, "mechanism": "krr", "epsilon": 1.0, "values": ["light", "dark"]}
theme |= {"owner": "bench@example.org", "purpose": "to measure", "expires": date(2999, 12, 31)}
with tempfile.TemporaryDirectory() as folder:
    registry = registry_of({"metrics": {"theme": theme}})
    with Client(registry, None, state=Path(folder) / "device.sqlite") as client:
        client.consent.grant()
        assert client.record("theme", "dark").recorded
"""


def measure() -> list[Row]:
    """Import ours and theirs by turns: milliseconds and MiB, medians."""
    lines = [*_OURS, *_PEERS]
    taken = [partial(_import_seconds, line) for line in lines]
    added = [partial(added_mebibytes, line) for line in (_OURS[1], _RECORD, _PEERS[0])]
    try:
        peers_python()
    except PeerUnavailable:
        taken.pop()
    times = dict(
        zip(lines, (median(one) * 1e3 for one in interleaved(taken, _ROUNDS)), strict=False)
    )
    rows = [_row(line, peer, times) for line in _OURS for peer in _PEERS]
    loaded, recorded, numpy = (median(one) for one in interleaved(added, _MEMORY_ROUNDS))
    return [
        *rows,
        Row(f"memory of {_OURS[1]}", loaded, "MiB", _PEERS[0], numpy),
        Row("memory of a client that has recorded", recorded, "MiB", _PEERS[0], numpy),
    ]


def _row(line: str, peer: str, times: dict[str, float]) -> Row:
    if peer not in times:
        return Row(line, times[line], "ms", f"{peer}: {UNAVAILABLE}")
    aim = _AIM if peer == _PEERS[0] else None
    return Row(line, times[line], "ms", peer, times[peer], aim)


def _import_seconds(line: str) -> float:
    # numpy is the one that we run on; requests is none of our dependencies.
    python: str | Path = peers_python() if line == "import requests" else sys.executable
    printed = subprocess.run(  # noqa: S603  # an interpreter and words of our own
        [python, "-c", _PROGRAM.format(line)], capture_output=True, check=True, text=True
    )
    return float(printed.stdout)
