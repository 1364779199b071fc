"""Collectors that transfer tallies: databases of either kind, filled by hand and read back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from tests.harness.collector import REGISTRY, TODAY, batch, compact, registry, report

from benchmarks.postgres_server import Server
from rumor_server.ingestion.batch import decode_batch
from rumor_server.ingestion.screening import Charges, ScreenedBatch, screen_batch
from rumor_server.settings import Settings
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.storage.open_store import open_store, open_transfer
from rumor_server.storage.postgres.connection import upgrade
from rumor_server.storage.tally_file import DayTally
from rumor_server.storage.tally_transfer import export_tallies, merge_tallies
from rumor_shared.wire import JSON

DAYS = [TODAY - timedelta(days=back) for back in (2, 1)]
# Beside the metrics of the other tests one whose tally takes three chunks.
WIDE_VALUES = 600
EXCHANGED = (
    REGISTRY
    + f"""
[metrics.wide]
revision = 1
mechanism = "krr"
epsilon = 1.0
daily_epsilon = 10.0
values = {[f"v{number}" for number in range(WIDE_VALUES)]}
owner = "test@example.org"
purpose = "to test"
expires = 2026-12-31
"""
)
DECLARED = registry(EXCHANGED)
CHARGES = Charges(DECLARED)

# Makes an empty database each time, and returns the settings that name it.
Make = Callable[[], Settings]


def files(folder: Path) -> Make:
    """Return what makes empty SQLite files, in a folder."""
    numbers = itertools.count()
    return lambda: Settings(database=folder / f"{next(numbers)}.sqlite3", busy_seconds=60)


def tables(postgres: Server) -> Make:
    """Return what makes empty databases, on a server."""

    def make() -> Settings:
        url = postgres.make()
        upgrade(url, 60)
        return Settings(database_url=url, busy_seconds=60)

    return make


def screened(documents: Sequence[dict[str, Any]]) -> list[ScreenedBatch]:
    """Batches as screening passes them to a store."""
    return [
        screen_batch(decode_batch(compact(one), JSON), CHARGES, TODAY, DECLARED.max_age_days)
        for one in documents
    ]


def collect(
    where: Settings, documents: Sequence[dict[str, Any]] = (), *, closed: date | None = TODAY
) -> Settings:
    """Have a database count batches, then close its days up to `closed`."""
    with closing(open_store(where)) as store:
        store.declare(DECLARED)
        if documents:
            results = store.commit(screened(documents))
            assert {result.verdict for part in results for result in part} == {"accepted"}
        if closed is not None:
            store.close_days(closed)
    return where


def themes(answers: str, day: date = DAYS[0]) -> list[dict[str, Any]]:
    """A batch a device, of theme 0, 1 or 2."""
    return [batch(report(payload=bytes([int(answer)])), day=day) for answer in answers]


def exported(where: Settings, metrics: Sequence[str] = ()) -> list[DayTally]:
    """What a database exports."""
    with open_transfer(where, reads_only=True) as transfer:
        return export_tallies(transfer, metrics)[0]


def merge(where: Settings, tallies: Sequence[DayTally]) -> None:
    """Merge into a database as one file is merged."""
    with open_transfer(where, reads_only=False) as transfer:
        merge_tallies(transfer, tallies)


def compact_deltas(where: Settings) -> None:
    """Fold what was appended, where a database appends."""
    with closing(open_store(where)) as store:
        store.compact()


def counted(where: Settings) -> list[int]:
    """How often each theme came, over all days."""
    with closing(open_store(where)) as store:
        counts = store.tally(DECLARED.metric("theme"), date.min, date.max).counts
    return [int(count) for count in counts[0]]


def rows_of(where: Settings) -> list[dict[str, Any]]:
    """The rows of all estimates over all days."""
    rows: list[dict[str, Any]] = []
    with closing(open_store(where)) as store:
        for name, candidates in (("theme", None), ("page", ["a", "b"]), ("wide", None)):
            metric = store.revisions(name)[-1]
            tally = store.tally(metric, date.min, date.max)
            rows += list(estimate_metric(metric, tally, candidates).rows())
    return rows
