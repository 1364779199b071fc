"""What a durable answer over HTTP costs, beside an ASGI echo under the same server."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.load import requests_per_second
from benchmarks.measures.ingestion import REGISTRY, body
from benchmarks.row import Row, interleaved
from benchmarks.serving import collector, echo
from rumor_shared.wire import REPORTS_PATH

_ROUNDS = 7
_PEER = "ASGI echo, same server"
# At least half of the requests a second that an echo reaches.
_AIM = 2.0
# As many requests and connections as some seconds' devices bring.
_REQUESTS = 3000
_CONNECTIONS = 128


def measure() -> list[Row]:
    """Post single reports; microseconds each, medians."""
    with (
        tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder,
        collector(Path(folder), REGISTRY) as ours,
        echo() as peer,
    ):
        calls = [partial(posted, server.port) for server in (ours, peer)]
        value, floor = (1e6 * median(taken) for taken in interleaved(calls, _ROUNDS))
    return [Row("POST a report", value, "us", _PEER, floor, _AIM)]


def posted(port: int) -> float:
    """Post single reports over many connections; return the seconds that each took."""
    day = datetime.now(UTC).date()
    bodies = [body(1, day) for _ in range(_REQUESTS)]
    return 1 / requests_per_second(port, REPORTS_PATH, bodies, _CONNECTIONS)
