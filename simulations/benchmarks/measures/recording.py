"""What `record` keeps its caller waiting for, beside the bare durable insert it can't go below."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.row import Row, interleaved, percentile, seconds
from rumor_client import Client
from rumor_shared.registry import Registry, registry_of

# Enough for a 99th percentile that rests on ten calls.
_ROUNDS = 1000
_PEER = "SQLite insert, same pragmas"
_VALUES = ("light", "dark", "system")


def measure() -> list[Row]:
    """Record on disk and insert one row durably by turns; microseconds, median and 99%."""
    with (
        tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder,
        _recording(Path(folder)) as record,
        _inserting(Path(folder)) as insert,
    ):
        calls = [partial(seconds, record), partial(seconds, insert)]
        # The first calls open files and load modules.
        interleaved(calls, 20)
        ours, peer = interleaved(calls, _ROUNDS)
    return [
        Row("record, median", median(ours) * 1e6, "us", _PEER, median(peer) * 1e6),
        Row("record, 99%", percentile(ours, 99) * 1e6, "us", _PEER, percentile(peer, 99) * 1e6),
    ]


@contextmanager
def _recording(folder: Path) -> Iterator[Callable[[], object]]:
    with Client(_registry(), None, state=folder / "device.sqlite", daily_cap=_ROUNDS * 2) as client:
        client.consent.grant()

        def record() -> None:
            result = client.record("theme", _VALUES[0])
            if not result.recorded:
                raise RuntimeError(f"the bench must measure what is stored: {result}")

        yield record


@contextmanager
def _inserting(folder: Path) -> Iterator[Callable[[], object]]:
    with closing(sqlite3.connect(folder / "floor.sqlite", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE outbox (id BLOB PRIMARY KEY, payload BLOB) WITHOUT ROWID")

        def insert() -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO outbox VALUES (?, ?)", (os.urandom(16), b"\x01"))
            connection.execute("COMMIT")

        yield insert


def _registry() -> Registry:
    theme = {
        "revision": 1,
        "mechanism": "krr",
        "epsilon": 1.0,
        "daily_epsilon": _ROUNDS * 2,
        "values": _VALUES,
        "owner": "bench@example.org",
        "purpose": "to measure",
        "expires": date(2999, 12, 31),
    }
    return registry_of({"metrics": {"theme": theme}})
