"""Fixtures that tests of several rooms share: a collector in process, a PostgreSQL server."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.collector import Collector, collector

from benchmarks.postgres_server import Server, binaries, serving


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Collector]:
    """A collector with the registry of the tests, on a database of its own."""
    with collector(tmp_path / "rumor.sqlite3") as started:
        yield started


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server; CI has one, elsewhere its tests are skipped where there is none."""
    if binaries() is None and not os.environ.get("CI"):
        pytest.skip("PostgreSQL is not installed")
    with serving() as server:
        yield server
