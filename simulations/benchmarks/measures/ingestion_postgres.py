"""What counting reports costs on PostgreSQL, beside bare inserts of the same rows by the same one.

A server of its own is started where PostgreSQL is installed; without it nothing is measured. The
bare inserts are one transaction after another on one connection. Reports that come one a request,
over 128 connections, share their commits, so that they may cost less.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.measures.ingestion import DAY, REGISTRY, beside_inserts
from benchmarks.measures.ingestion_http import posted_seconds
from benchmarks.measures.ingestion_memory import grown
from benchmarks.row import Row, interleaved, seconds
from benchmarks.serving import collector
from rumor_shared.wire import MAX_BATCH_REPORTS

_ROUNDS = 60
_HTTP_ROUNDS = 5
_SINGLE_INSERTS = 300
# At least half of the reports a second that bare inserts reach, as over HTTP beside an echo.
_AIM = 2.0


def measure() -> list[Row]:
    """Count batches of 500, and single reports over HTTP; microseconds a report, medians."""
    try:
        from benchmarks.postgres_server import binaries, serving
    except ImportError:
        return []
    if binaries() is None:
        return []
    from rumor_server.storage.postgres.connection import upgrade
    from rumor_server.storage.postgres.store import PostgresStore

    with serving() as server:
        url = server.make()
        upgrade(url)
        with closing(PostgresStore(url)) as store, _inserting(url, MAX_BATCH_REPORTS) as insert:
            what = "count a report on PostgreSQL"
            batches = beside_inserts(what, "PostgreSQL", store, insert, _ROUNDS)
        single, memory = server.make(), server.make()
        upgrade(single)
        upgrade(memory)
        with tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder:
            return [
                batches,
                _single(single, Path(folder)),
                *grown("a collector on PostgreSQL", Path(folder), memory),
            ]


def _single(url: str, folder: Path) -> Row:
    with collector(folder, REGISTRY, url) as ours, _inserting(url, 1) as insert:
        calls = [
            partial(posted_seconds, ours),
            partial(seconds, insert, _SINGLE_INSERTS),
        ]
        value, floor = (1e6 * median(taken) for taken in interleaved(calls, _HTTP_ROUNDS))
    return Row(
        "POST a report, on PostgreSQL", value, "us", "PostgreSQL, the same rows", floor, _AIM
    )


@contextmanager
def _inserting(url: str, reports: int) -> Iterator[Callable[[], object]]:
    from rumor_server.storage.postgres.connection import connect

    tables = ("ids", "spend", "deltas")
    with connect(url, 5) as connection:
        for table in tables:
            connection.execute(f"DROP TABLE IF EXISTS floor_{table}".encode())
            connection.execute(f"CREATE TABLE floor_{table} (LIKE {table} INCLUDING ALL)".encode())

        def insert() -> None:
            ids = sorted(os.urandom(16) for _ in range(reports))
            digests = [os.urandom(16) for _ in ids]
            with connection.transaction():
                connection.execute(
                    "INSERT INTO floor_ids SELECT id, %s, digest, 0 "
                    "FROM unnest(%b::bytea[], %b::bytea[]) AS new (id, digest)",
                    (DAY, ids, digests),
                )
                connection.execute(
                    "INSERT INTO floor_spend SELECT %s, account, %s "
                    "FROM unnest(%b::bytea[]) AS new (account)",
                    (DAY, reports, [os.urandom(16), os.urandom(16)]),
                )
                connection.execute(
                    "INSERT INTO floor_deltas (series, day, cohort, chunk, reports, cells) "
                    "VALUES (1, %s, 0, 0, %s, %b)",
                    (DAY, reports, bytes(800)),
                )

        yield insert
        for table in tables:
            connection.execute(f"DROP TABLE floor_{table}".encode())
