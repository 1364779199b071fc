"""How much memory a process has had at most, and what lines of Python add to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PROGRAM = """
from benchmarks.memory import peak_mebibytes
before = peak_mebibytes()
{}
print(peak_mebibytes() - before)
"""


def peak_mebibytes() -> float:
    """Return the most memory that this process has had resident, in MiB.

    Linux's `ru_maxrss` of a child begins with its parent's, so its own record is read there.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    # macOS counts bytes, others KiB.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def added_mebibytes(lines: str, python: str | Path = sys.executable) -> float:
    """Run lines in a fresh interpreter; return the memory that they added to its start, in MiB."""
    printed = subprocess.run(  # noqa: S603  # an interpreter and lines of our own
        [python, "-c", _PROGRAM.format(lines)], capture_output=True, check=True, text=True
    )
    return float(printed.stdout)
