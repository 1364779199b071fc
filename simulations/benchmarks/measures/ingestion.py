"""What counting a batch costs a store, beside bare inserts of the same rows by the same database.

The floor writes what a store has to write (an id and a digest for each report, the spend of a
pseudonym's accounts, a tally's cells) in transactions of the same size, with the same pragmas, and
decides nothing. Both start from the bytes: ours decodes a batch as it comes over the wire.
"""

from __future__ import annotations

import json
import os
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.row import Row, interleaved, seconds
from rumor_server.ingestion.batch import decode_batch
from rumor_server.ingestion.screening import Charges, screen_batch
from rumor_server.storage.sqlite.file import open_writer
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_server.storage.store import Store
from rumor_shared.registry import parse_registry
from rumor_shared.wire import JSON, MAX_BATCH_REPORTS

_ROUNDS = 100
# Calls that open files and load modules, before any is measured.
_WARM = 5
DAY = date(2026, 11, 30)
VALUES = tuple(f"value {number}" for number in range(100))
# At least 60% of the reports a second that bare inserts reach.
_AIM = 1 / 0.6
# One metric, whose allowance a batch does not pass.
REGISTRY = f"""
[registry]
daily_epsilon = 1000.0

[metrics.bench]
revision = 1
mechanism = "krr"
epsilon = 1.0
daily_epsilon = {MAX_BATCH_REPORTS}.0
values = {json.dumps(VALUES)}
owner = "bench@example.org"
purpose = "to measure"
expires = 2999-12-31
"""


def measure() -> list[Row]:
    """Count batches of 500 on disk; microseconds a report, medians."""
    with tempfile.TemporaryDirectory(prefix="rumor-bench-") as name:
        folder = Path(name)
        with (
            closing(SqliteStore(folder / "ours.sqlite")) as store,
            _inserting(folder) as insert,
        ):
            return [beside_inserts("count a report", "SQLite", store, insert, _ROUNDS)]


def beside_inserts(
    what: str, database: str, store: Store, insert: Callable[[], object], rounds: int
) -> Row:
    """Count batches in a store and insert as many rows by turns; return microseconds a report.

    Raises RuntimeError if a report isn't counted.
    """
    registry = parse_registry(REGISTRY.encode())
    charges = Charges(registry)
    store.declare(registry)
    bodies = iter([body(MAX_BATCH_REPORTS) for _ in range(_WARM + rounds)])

    def count() -> None:
        batch = decode_batch(next(bodies), JSON)
        (results,) = store.commit([screen_batch(batch, charges, DAY, registry.max_age_days)])
        if any(result.reason for result in results):
            raise RuntimeError("the bench must measure what is counted")

    calls = [partial(seconds, count), partial(seconds, insert)]
    interleaved(calls, _WARM)
    value, floor = (median(taken) * 1e6 / MAX_BATCH_REPORTS for taken in interleaved(calls, rounds))
    batched = f"{what}, in batches of {MAX_BATCH_REPORTS}"
    return Row(batched, value, "us", f"{database}, the same rows", floor, _AIM)


@contextmanager
def _inserting(folder: Path) -> Iterator[Callable[[], object]]:
    with closing(open_writer(folder / "floor.sqlite", 5)) as connection:
        registry = (
            "INSERT INTO registries VALUES ('r', x'00')",
            "INSERT INTO series VALUES (1, 'bench', 1, 'f', 'r')",
        )
        for statement in registry:
            connection.execute(statement)
        rows = iter([_rows() for _ in range(_WARM + _ROUNDS)])
        day = DAY.toordinal()
        cells = bytes(8 * len(VALUES))

        def insert() -> None:
            ids, spend = next(rows)
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO ids VALUES (?, ?, ?, 0)", ids)
            connection.executemany("INSERT INTO spend VALUES (?, ?, 500)", spend)
            connection.execute(
                "INSERT INTO tallies VALUES (1, ?, 0, 0, 500, ?) ON CONFLICT DO UPDATE "
                "SET reports = reports + excluded.reports, cells = excluded.cells",
                (day, cells),
            )
            connection.execute("COMMIT")

        yield insert


def _rows() -> tuple[list[tuple[bytes, int, bytes]], list[tuple[int, bytes]]]:
    day = DAY.toordinal()
    ids = sorted((os.urandom(16), day, os.urandom(16)) for _ in range(MAX_BATCH_REPORTS))
    return ids, [(day, os.urandom(16)) for _ in range(2)]


def body(reports: int, day: date = DAY) -> bytes:
    """Return the bytes of a batch of so many fresh reports, as our client writes them."""

    def base64(data: bytes) -> str:
        return b64encode(data).decode()

    return msgspec.json.encode(
        {
            "sdk": "bench/1",
            "day": day.isoformat(),
            "pseudonym": base64(os.urandom(16)),
            "reports": [
                {
                    "id": base64(os.urandom(16)),
                    "metric": "bench",
                    "revision": 1,
                    "cohort": 0,
                    "payload": base64(bytes([number % len(VALUES)])),
                }
                for number in range(reports)
            ],
        }
    )
