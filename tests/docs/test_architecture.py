"""The page on architecture leads to files that are there."""

import re

from tests.docs.blocks import HOUSE

PAGE = (HOUSE / "docs" / "architecture.md").read_text("utf-8")
ROOMS = ("client/rumor_client", "server/rumor_server", "shared/rumor_shared")
# What stands for each mechanism.
ONE = "krr"


def test_flow_names_files_that_are_there() -> None:
    """Each file and folder in the picture of the flow is one of the rooms it speaks of."""
    (picture,) = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    named = re.findall(r"[\w/]+/[\w/]*(?:\.py)?|\w+\.py", picture)
    files = {name.replace("X.py", f"{ONE}.py") for name in named if not name.startswith("/")}
    # Packages beside the last one named share its folder.
    files |= {f"statistics/{name}" for name in ("cohorts/", "decoding/")}
    missing = {
        name
        for name in files - {"cohorts/", "decoding/"} - set(ROOMS)
        if name.endswith((".py", "/")) and not any((HOUSE / room / name).exists() for room in ROOMS)
    }
    assert len(files) > 35
    assert missing == set()


def test_questions_lead_to_files_that_are_there() -> None:
    """Each path in the tables of the page exists."""
    paths = re.findall(r"`((?:client|server|shared|simulations|tests|docs|examples)/[^`]*)`", PAGE)
    named = {path.replace("/X.py", f"/{ONE}.py") for path in paths}
    rooms = {f"{room.split('/')[-1]}" for room in ROOMS}
    assert len(named) > 20
    assert {name for name in named if not (HOUSE / name).exists()} == set()
    assert rooms <= set(re.findall(r"rumor_\w+", PAGE))
