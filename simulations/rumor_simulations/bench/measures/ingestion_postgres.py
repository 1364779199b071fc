"""What counting a batch costs on PostgreSQL, beside bare inserts of the same rows by the same one.

The server's address is RUMOR_BENCH_POSTGRES, a database that may be thrown away; without it there
is nothing to measure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from rumor_shared.wire import MAX_BATCH_REPORTS
from rumor_simulations.bench.measures.ingestion import DAY, beside_inserts
from rumor_simulations.bench.row import Row

_ROUNDS = 60
_ADDRESS = "RUMOR_BENCH_POSTGRES"


def measure() -> list[Row]:
    """Count batches of 500; microseconds a report, medians."""
    url = os.environ.get(_ADDRESS)
    if not url:
        return []
    from rumor_server.storage.postgres_connection import connect, upgrade
    from rumor_server.storage.postgres_store import PostgresStore

    with connect(url, 5) as connection:
        connection.execute("DROP SCHEMA IF EXISTS rumor CASCADE")
    upgrade(url)
    with closing(PostgresStore(url)) as store, _inserting(url) as insert:
        what = "count a report on PostgreSQL"
        return [beside_inserts(what, "PostgreSQL", store, insert, _ROUNDS)]


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
