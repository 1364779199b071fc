"""Figures are files, whatever the environment says of windows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DRAW = """
import sys
from pathlib import Path
from rumor_simulations.plotting import figure
with figure(Path(sys.argv[1]), "line") as (_, (axes,)):
    axes.plot([0, 1])
"""


@pytest.mark.parametrize(
    "backend", ["module://matplotlib_inline.backend_inline", "no such backend", "qtagg", ""]
)
def test_draws_whatever_a_notebook_chose(backend: str, tmp_path: Path) -> None:
    """N-24: a backend of MPLBACKEND, installed or not, keeps no figure from being written."""
    done = subprocess.run(
        [sys.executable, "-c", DRAW, str(tmp_path)],
        env={**os.environ, "MPLBACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".svg"}
