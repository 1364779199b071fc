"""What users, devices and files see is what is kept in `tests/data/golden`, to the letter.

Where a change is meant, `python -m tests.golden --write` keeps the new state, to be read as a diff.
"""

import json
from collections.abc import Mapping
from difflib import unified_diff
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.golden.recording import kept, record

KEPT = kept()
# Who writes a document's words for us, by file: with another release of it they are compared less.
WRITERS = {"openapi.json": ("fastapi", "pydantic"), "help.json": ("typer",)}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What this installation does in the golden world."""
    return record(tmp_path_factory.mktemp("golden"))


def test_every_golden_file_is_recorded(recorded: Mapping[str, str]) -> None:
    """No golden file is left from a subject that is gone, and none is missing."""
    assert sorted(recorded) == sorted(KEPT)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_shows_what_it_showed_before(recorded: Mapping[str, str], name: str) -> None:
    """Routes, pages, commands, tables and public names are what they were."""
    if any(json.loads(KEPT[name])[one] != version(one) for one in WRITERS.get(name, ())):
        pytest.skip(f"made with another release of {' or '.join(WRITERS[name])}")
    difference = unified_diff(
        KEPT[name].splitlines(), recorded[name].splitlines(), "kept", "now", n=0, lineterm=""
    )
    assert "\n".join(line[:2000] for line in difference) == ""


def test_the_golden_world_says_nothing_of_its_making() -> None:
    """A file that held a port, a folder or a moment would differ from machine to machine."""
    for name, text in KEPT.items():
        assert str(Path.home()) not in text, name
        assert "127.0.0.1:" not in text.replace("127.0.0.1:PORT", ""), name
