"""Fixtures that several tests of the collector share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.collecting import Collector, collector


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Collector]:
    """A collector with the registry of the tests, on a database of its own."""
    with collector(tmp_path / "rumor.sqlite3") as started:
        yield started
