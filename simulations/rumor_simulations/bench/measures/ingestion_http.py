"""What a durable answer over HTTP costs, beside an ASGI echo under the same server."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

from rumor_shared.wire import MAX_BATCH_REPORTS, REPORTS_PATH
from rumor_simulations.bench.load import requests_per_second
from rumor_simulations.bench.measures.ingestion import REGISTRY, body
from rumor_simulations.bench.row import Row, interleaved
from rumor_simulations.bench.serving import collector, echo

_ROUNDS = 7
_PEER = "ASGI echo, same server"
# (reports a request, requests a round, connections at a time): as many devices as a second brings,
# and as many queues as a drain of a day's outboxes has.
_LOADS = ((1, 3000, 128), (MAX_BATCH_REPORTS, 100, 8))


def measure() -> list[Row]:
    """Post single reports and batches of 500; microseconds each, medians.

    Below 2 is the target for single reports; batches are held against SQLite, not an echo.
    """
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder,
        collector(Path(folder), REGISTRY) as ours,
        echo() as peer,
    ):
        for reports, requests, connections in _LOADS:
            calls = [
                partial(_round, server.port, reports, requests, connections)
                for server in (ours, peer)
            ]
            value, floor = (1e6 / median(rates) for rates in interleaved(calls, _ROUNDS))
            rows.append(Row(f"POST, reports a body: {reports}", value, "us", _PEER, floor))
    return rows


def _round(port: int, reports: int, requests: int, connections: int) -> float:
    day = datetime.now(UTC).date()
    bodies = [body(reports, day) for _ in range(requests)]
    return requests_per_second(port, REPORTS_PATH, bodies, connections)
