"""One filled collector for all tests that only read, and the pages it answers with."""

from collections.abc import Iterator

import pytest
from tests.harness.collector import Collector
from tests.harness.filled_collector import filled

DAYS, A_DAY = 6, 250


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """Six days of themes and pages, a new revision of themes in the middle."""
    with filled(tmp_path_factory.mktemp("dashboard"), days=DAYS, a_day=A_DAY) as started:
        yield started
