"""The facade `rumor`: the same names as `rumor_client`, typed, completed, and as light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jedi
import pytest
from tests.client.test_public import modules_after
from tests.harness.devices import ROOT

import rumor
import rumor.testing
import rumor_client
import rumor_client.testing


def test_the_facade_offers_what_the_client_does() -> None:
    """Every public name of `rumor_client` is in `rumor`, and is the same object."""
    assert rumor.__all__ == rumor_client.__all__
    assert rumor.testing.__all__ == rumor_client.testing.__all__
    for module, home in ((rumor, rumor_client), (rumor.testing, rumor_client.testing)):
        for name in home.__all__:
            assert getattr(module, name) is getattr(home, name)
    assert set(rumor.__all__) <= set(dir(rumor))


def test_a_name_that_isnt_there_is_an_attribute_error() -> None:
    """The lazy module answers like any other."""
    with pytest.raises(AttributeError, match="'rumor' has no attribute 'Clint'"):
        _ = rumor.Clint  # type: ignore[attr-defined]


def test_the_import_loads_nothing_heavy() -> None:
    """`import rumor` loads itself alone; `from rumor import Client` what `rumor_client` does."""
    before = modules_after("pass")
    loaded = modules_after("import rumor") - before
    assert {name.partition(".")[0] for name in loaded} <= {"rumor", "__future__"}
    facade = modules_after("from rumor import Client") - before
    assert facade - {"rumor"} == modules_after("from rumor_client import Client") - before
    assert not {"typing", "importlib.metadata"} & facade


@pytest.mark.slow
def test_the_stub_says_what_the_module_has() -> None:
    """mypy's stubtest finds no difference between `__init__.pyi` and the running module."""
    stubtest = Path(sys.executable).with_name("stubtest")
    done = subprocess.run(
        [stubtest, "rumor"], check=False, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_editor_completes_the_methods_of_a_client() -> None:
    """jedi, which editors and notebooks complete with, knows what a client can do."""
    written = 'from rumor import Client\nclient = Client("metrics.toml")\nclient.'
    project = jedi.Project(ROOT, added_sys_path=[str(ROOT / "client"), str(ROOT / "shared")])
    found = {name.name for name in jedi.Script(written, project=project).complete()}
    assert {"record", "flush", "aflush", "status", "forget", "close", "consent"} <= found
