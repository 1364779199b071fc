"""What counting a batch costs on PostgreSQL, beside bare inserts of the same rows by the same one.

The server's address is RUMOR_BENCH_POSTGRES, a database that may be thrown away; without it there
is nothing to measure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from statistics import median

from rumor_server.ingestion.batch import decode_batch
from rumor_server.ingestion.screening import Charges, screen_batch
from rumor_shared.registry import parse_registry
from rumor_shared.wire import JSON, MAX_BATCH_REPORTS
from rumor_simulations.bench.measures.ingestion import AIM, DAY, REGISTRY, body
from rumor_simulations.bench.row import Row, interleaved, seconds

_ROUNDS = 60
_ADDRESS = "RUMOR_BENCH_POSTGRES"
_PEER = "PostgreSQL, the same rows"


def measure() -> list[Row]:
    """Count batches of 500; microseconds a report, medians."""
    url = os.environ.get(_ADDRESS)
    if not url:
        return []
    from rumor_server.storage.postgres_connection import connect, upgrade

    with connect(url, 5) as connection:
        connection.execute("DROP SCHEMA IF EXISTS rumor CASCADE")
    upgrade(url)
    with _counting(url) as count, _inserting(url) as insert:
        calls = [partial(seconds, count), partial(seconds, insert)]
        interleaved(calls, 5)
        ours, floor = interleaved(calls, _ROUNDS)
    value, peer = (median(taken) * 1e6 / MAX_BATCH_REPORTS for taken in (ours, floor))
    what = f"count a report on PostgreSQL, in batches of {MAX_BATCH_REPORTS}"
    return [Row(what, value, "us", _PEER, peer, AIM)]


@contextmanager
def _counting(url: str) -> Iterator[Callable[[], object]]:
    from rumor_server.storage.postgres_store import PostgresStore

    registry = parse_registry(REGISTRY.encode())
    charges = Charges(registry)
    with closing(PostgresStore(url)) as store:
        store.adopt(registry)
        bodies = iter([body(MAX_BATCH_REPORTS) for _ in range(_ROUNDS + 5)])

        def count() -> None:
            batch = decode_batch(next(bodies), JSON)
            (results,) = store.commit([screen_batch(batch, charges, DAY, registry.max_age_days)])
            if any(result.reason for result in results):
                raise RuntimeError("the bench must measure what is counted")

        yield count


@contextmanager
def _inserting(url: str) -> Iterator[Callable[[], object]]:
    from rumor_server.storage.postgres_connection import connect

    tables = ("ids", "spend", "deltas")
    with connect(url, 5) as connection:
        for table in tables:
            connection.execute(f"DROP TABLE IF EXISTS floor_{table}".encode())
            connection.execute(f"CREATE TABLE floor_{table} (LIKE {table} INCLUDING ALL)".encode())

        def insert() -> None:
            ids = sorted(os.urandom(16) for _ in range(MAX_BATCH_REPORTS))
            digests = [os.urandom(16) for _ in ids]
            with connection.transaction():
                connection.execute(
                    "INSERT INTO floor_ids SELECT id, %s, digest, 0 "
                    "FROM unnest(%b::bytea[], %b::bytea[]) AS new (id, digest)",
                    (DAY, ids, digests),
                )
                connection.execute(
                    "INSERT INTO floor_spend SELECT %s, account, 1, 500 "
                    "FROM unnest(%b::bytea[]) AS new (account)",
                    (DAY, [os.urandom(16), os.urandom(16)]),
                )
                connection.execute(
                    "INSERT INTO floor_deltas (series, day, cohort, chunk, reports, cells) "
                    "VALUES (1, %s, 0, 0, 500, %b)",
                    (DAY, bytes(800)),
                )

        yield insert
        for table in tables:
            connection.execute(f"DROP TABLE floor_{table}".encode())
