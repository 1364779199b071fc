"""A dashboard that wants a key, in a real browser."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.harness.chromium import chromium
from tests.harness.collector import REGISTRY
from tests.harness.collector_process import DAY, Serving

from rumor_server.access import Scope
from rumor_server.operations.keyring import create_key
from rumor_server.settings import Settings
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.sqlite.store import SqliteStore

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31")


@pytest.mark.slow
def test_signs_in_with_a_key(tmp_path: Path) -> None:
    """O-01: the key as the password shows the dashboard and all it leads to; a wrong one and none
    show a page that says what to type.
    """
    serving = Serving(tmp_path, LASTING, settings={"read_access": "key"})
    with closing(SqliteStore(serving.database)):
        control = Control(Settings(database=serving.database))
        key = create_key(control, "reader", Scope.ANALYST, DAY)
        control.close()
    serving.start()
    try:
        with chromium() as browser:
            address = f"http://127.0.0.1:{serving.port}/"
            for password, status in ((key, 200), ("wrong", 401)):
                context = browser.new_context(
                    http_credentials={"username": "", "password": password}
                )
                page = context.new_page()
                answer = page.goto(address)
                assert answer is not None
                assert answer.status == status
                if status == 200:
                    page.get_by_role("link", name="theme").first.click()
                    assert "theme" in page.title()
                else:
                    assert "the password is the key" in page.inner_text("main")
                context.close()
    finally:
        serving.kill()
