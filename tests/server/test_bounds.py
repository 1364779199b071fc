"""The table of all bounds says what the code says, and leaves out none of the listed rooms."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from rumor_server.settings import Settings

HOUSE = Path(__file__).parents[2]
TABLE = (HOUSE / "docs" / "decisions" / "0011-bounds.md").read_text("utf-8")
ROWS = re.findall(r"^\| `([\w.]+)` \| ([0-9.]+) \| (.+) \|$", TABLE, re.MULTILINE)
# Whose bounds are all in the table, by file or folder.
ROOMS = (
    "rumor_server/http",
    "rumor_server/operations",
    "rumor_server/queries",
    "rumor_server/serving.py",
)
_IS_BOUND = re.compile(r"_?[A-Z_]*(SECONDS|BYTES)")


def test_has_a_row_for_each_bound_and_a_reason_in_each() -> None:
    """Every line of the table is read, none twice."""
    lines = [line for line in TABLE.splitlines() if line.startswith("| `")]
    assert len(lines) == len(ROWS) == len({name for name, _, _ in ROWS})
    assert all(reason.strip() for _, _, reason in ROWS)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, value, _ in ROWS])
def test_says_what_the_code_says(name: str, value: str) -> None:
    """The value of a setting is its default, of a constant what the module holds."""
    module, _, constant = name.rpartition(".")
    found = getattr(import_module(module), constant) if module else getattr(Settings(), name)
    assert float(found) == float(value)


def test_leaves_out_no_bound_of_a_listed_room() -> None:
    """Each constant in seconds or bytes of those rooms, and each such setting, has its row."""
    listed = {name for name, _, _ in ROWS}
    missing = [
        name
        for name in vars(Settings())
        if name.endswith(("_seconds", "_bytes")) and name not in listed
    ]
    for room in ROOMS:
        place = HOUSE / "server" / room
        for file in [place] if place.suffix else sorted(place.rglob("*.py")):
            module = ".".join(file.relative_to(HOUSE / "server").with_suffix("").parts)
            for node in ast.parse(file.read_text("utf-8")).body:
                targets = node.targets if isinstance(node, ast.Assign) else []
                for target in targets:
                    if isinstance(target, ast.Name) and _IS_BOUND.fullmatch(target.id):
                        missing += {f"{module}.{target.id}"} - listed
    assert missing == []
