"""The oldest libraries that the package admits give the same bytes as the newest (EN-04)."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
VECTORS = HOUSE / "docs" / "protocol-vectors.json"


def lowest() -> list[str]:
    """Return the dependencies of a base install, each at its lower bound."""
    metadata = (HOUSE / "pyproject.toml").read_text("utf-8")
    (block,) = re.findall(r"^dependencies = \[(.*?)\]", metadata, re.MULTILINE | re.DOTALL)
    return [f"{name}=={version}" for name, version in re.findall(r'"([\w-]+)>=([\d.]+),', block)]


@pytest.mark.slow
def test_lowest_versions_make_the_published_vectors(tmp_path: Path) -> None:
    """Hashes, Bloom bits, permanent answers and payloads are those of the protocol's vectors."""
    wanted = lowest()
    assert len(wanted) == 2
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    python = str(tmp_path / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, *wanted], check=True)
    script = "from rumor_simulations.commands.conformance import main; main(['vectors'])"
    rooms = f"{HOUSE / 'client'}:{HOUSE / 'shared'}:{HOUSE / 'simulations'}"
    printed = subprocess.run(
        [python, "-c", script],
        env={"PYTHONPATH": rooms},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(printed.stdout) == json.loads(VECTORS.read_text("utf-8"))
