"""Apps that are frozen: the quick start's own lines record and upload, with no options (N-05)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.devices import ROOT
from tests.harness.http_server import collecting

from rumor_client.process.freezing import hook_dirs
from rumor_client.testing import FakeCollector

APP = """
import sys
from pathlib import Path
from rumor import Client

registry = Path(sys.argv[1]).read_bytes()
with Client(registry, sys.argv[2], state=sys.argv[3], background=False) as client:
    client.consent.ask_once(lambda: True)
    print(client.record("theme", "dark"))
    print(client.record("browser", "a text"))
    print(client.flush(timeout=20).accepted)
    print(client.view()[0].state, client.status().sent)
    print(client.forget(20).taken_back)
"""
REGISTRY = """
[registry]
daily_epsilon = 8.0

[metrics.theme]
revision = 1
mechanism = "krr"
epsilon = 1.0
values = ["light", "dark"]
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31

[metrics.browser]
revision = 1
mechanism = "rappor"
bits = 32
hashes = 2
cohorts = 8
f = 0.25
p = 0.25
q = 0.75
max_values = 1
owner = "test@example.org"
purpose = "to test"
expires = 2999-12-31
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["--onedir", "--onefile"])
def test_a_frozen_app_records_and_uploads(form: str, tmp_path: Path) -> None:
    """PyInstaller follows what is imported, and our hook names the rest."""
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "metrics.toml").write_text(REGISTRY)
    built = subprocess.run(
        [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level=ERROR", form, "app.py"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    found = tmp_path / "dist" / "app"
    app = found / "app" if form == "--onedir" else found
    collector = FakeCollector()
    with collecting(collector) as url:
        done = subprocess.run(
            [app, tmp_path / "metrics.toml", url, tmp_path / "state"],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    recorded = ["theme: recorded", "browser: recorded", "2", "accepted 2", "2"]
    assert done.stdout.splitlines() == recorded


def test_the_hook_lies_where_its_entry_point_says() -> None:
    """The folder that the entry point gives holds the hook."""
    (folder,) = hook_dirs()
    assert (Path(folder) / "hook-rumor_client.py").is_file()


def test_no_import_of_the_client_is_built_up_at_run_time() -> None:
    """But for the table of public names, which stands beside it: a freezer can follow all."""
    named = {"client/rumor_client/__init__.py"}
    found = set()
    for path in (ROOT / "client").rglob("*.py"):
        names = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Attribute)
        }
        if names & {"import_module", "__import__", "find_spec"}:
            found.add(path.relative_to(ROOT).as_posix())
    assert found <= named
