"""How much a collector's memory grows over a million reports: it must not."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.load import post
from benchmarks.measures.ingestion import REGISTRY, body
from benchmarks.row import Row
from benchmarks.serving import collector
from rumor_shared.wire import MAX_BATCH_REPORTS, REPORTS_PATH

_REPORTS = 1_000_000
# SQLite's cache (16 MiB) is full by then.
_WARM = 500_000
# Flat, but for a page that the allocator keeps here or there.
_AIM = 1.02
_STEP = 50_000


def measure() -> list[Row]:
    """Post a million reports in batches of 500; MB of resident memory at the end, and halfway."""
    with tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder:
        return grown("a collector", Path(folder))


def grown(who: str, folder: Path, url: str | None = None) -> list[Row]:
    """Measure a collector on SQLite, or on the PostgreSQL database at `url`.

    Needs Linux's /proc; elsewhere there is nothing to measure.
    """
    if not Path("/proc/self/status").exists():
        return []
    with collector(folder, REGISTRY, url) as running:
        _post(running.port, _WARM)
        before = _resident(running.pid)
        _post(running.port, _REPORTS - _WARM)
        after = _resident(running.pid)
    what = f"memory of {who} after {_REPORTS:,} reports"
    return [Row(what, after, "MB", f"after {_WARM:,}", before, _AIM)]


def _post(port: int, reports: int) -> None:
    for _ in range(reports // _STEP):
        day = datetime.now(UTC).date()
        bodies = [body(MAX_BATCH_REPORTS, day) for _ in range(_STEP // MAX_BATCH_REPORTS)]
        post(port, REPORTS_PATH, bodies, 4)


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the process does not say how much memory it has")
