"""What an app pays to import the client, in time and memory, beside numpy and requests.

Each line runs in a fresh interpreter. The first loads almost nothing, the second the class. The
others also make a client from a registry file, and record one answer into a new state file: what is
left to load by then, and the file's first syncs. All sides have bytecode from a run before, as an
installer leaves it. The memory rows are for the second line and for a client that has recorded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.memory import added_mebibytes
from benchmarks.peers import UNAVAILABLE, PeerUnavailable, peers_python
from benchmarks.row import Row, interleaved

# Enough for a median that does not move by a tenth on a busy machine; some fifteen seconds.
_ROUNDS = 15
# Memory hardly varies.
_MEMORY_ROUNDS = 3
# Of numpy's time: a third is what a client may cost that nobody need fear.
_AIM = 1 / 3
_IMPORT = "from rumor_client import Client"
_MAKE = f"{_IMPORT}; client = Client('metrics.toml', state='device.sqlite', environ={{}})"
_RECORD = f"{_MAKE}; client.consent.grant(); assert client.record('theme', 'dark').recorded"
# Each line with what its row says.
_OURS = {
    "import rumor_client": "import rumor_client",
    _IMPORT: _IMPORT,
    _MAKE: "import, and make a client",
    _RECORD: "import, make a client, record once",
}
_NUMPY, _REQUESTS = "import numpy", "import requests"
_PROGRAM = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
_REGISTRY = """
[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
values = ["light", "dark", "system"]
owner = "bench@example.org"
purpose = "to measure"
expires = 2999-12-31
"""


def measure() -> list[Row]:
    """Import ours and theirs by turns: milliseconds and MiB, medians."""
    lines = [*_OURS, _NUMPY, _REQUESTS]
    try:
        peers_python()
    except PeerUnavailable:
        lines.remove(_REQUESTS)
    with tempfile.TemporaryDirectory(prefix="rumor-bench-") as bytecode:
        taken = [partial(_seconds, line, bytecode) for line in lines]
        # The first of each compiles what it imports.
        interleaved(taken, 1)
        medians = (median(one) * 1e3 for one in interleaved(taken, _ROUNDS))
        times = dict(zip(lines, medians, strict=True))
    added = [partial(_mebibytes, line) for line in (_IMPORT, _RECORD, _NUMPY)]
    loaded, recorded, numpy = (median(one) for one in interleaved(added, _MEMORY_ROUNDS))
    return [
        *(_row(line, peer, times) for line in _OURS for peer in (_NUMPY, _REQUESTS)),
        Row(f"memory of {_IMPORT}", loaded, "MiB", _NUMPY, numpy),
        Row("memory of a client that has recorded", recorded, "MiB", _NUMPY, numpy),
    ]


def _row(line: str, peer: str, times: dict[str, float]) -> Row:
    if peer not in times:
        return Row(_OURS[line], times[line], "ms", f"{peer}: {UNAVAILABLE}")
    aim = _AIM if peer == _NUMPY and line in ("import rumor_client", _IMPORT) else None
    return Row(_OURS[line], times[line], "ms", peer, times[peer], aim)


def _seconds(line: str, bytecode: str) -> float:
    # numpy is the one that we run on; requests is none of our dependencies.
    python: str | Path = peers_python() if line == _REQUESTS else sys.executable
    # A checkout may be forbidden to write bytecode that an installed package has.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    with _folder() as folder:
        printed = subprocess.run(  # noqa: S603  # an interpreter and words of our own
            [python, "-c", _PROGRAM.format(line)],
            capture_output=True,
            check=True,
            cwd=folder,
            env=environment,
            text=True,
        )
    return float(printed.stdout)


def _mebibytes(line: str) -> float:
    with _folder() as folder:
        return added_mebibytes(f"import os\nos.chdir({folder!r})\n{line}")


def _folder() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="rumor-bench-")
    Path(folder.name, "metrics.toml").write_text(_REGISTRY, "utf-8")
    return folder
