"""Hold published software to the same audit: pure-ldp's unary encoding, old and new.

    python -m rumor_simulations.audit.peers [FOLDER]

makes an environment for each version in FOLDER (or a temporary one), which needs a package index,
runs its clients there, and judges their reports by the worst event of `rumor audit`. Versions
before 1.2.0 left the true bit in the vector before flipping it, so it was kept with
1 - (1 - p)(1 - q): epsilon 1 delivers 1.680 (sue) and 1.551 (oue).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rumor_simulations.audit.bounds import Contrast
from rumor_simulations.audit.events import WorstEvent
from rumor_simulations.audit.mechanism_audit import ALPHA
from rumor_simulations.audit.plan import standard_metric

VERSIONS = ("1.1.2", "1.2.0")
ENCODINGS = ("sue", "oue")
# What these releases run on: numpy 2.3 and xxhash 4 broke them, and they do not name the others.
REQUIRES = ("numpy==2.2.6", "xxhash==3.8.2", "scikit-learn", "statsmodels")
TRIALS = 200_000
VALUES = 4


@dataclass(frozen=True)
class PeerLoss:
    """What a version gives away where it is asked for epsilon 1: bounds, each wrong with ALPHA."""

    version: str
    encoding: str
    low: float
    high: float


def audit_peers(folder: Path, trials: int = TRIALS) -> Iterator[PeerLoss]:
    """Yield the loss of each version and encoding. Raises CalledProcessError if pip fails."""
    for version in VERSIONS:
        python = environment(folder / version, version)
        for encoding in ENCODINGS:
            yield _audit(python, version, encoding, trials)


def environment(folder: Path, version: str) -> Path:
    """Make an environment with one version of pure-ldp; return its interpreter."""
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
        packages = (f"pure-ldp=={version}", *REQUIRES)
        _run([str(python), "-m", "pip", "install", "--quiet", *packages])
    return python


def _audit(python: Path, version: str, encoding: str, trials: int) -> PeerLoss:
    metric = standard_metric(encoding, "1")
    event = WorstEvent(metric, "v0", f"v{VALUES - 1}")
    hits = []
    for index in (0, VALUES - 1):
        program = Path(__file__).with_name("peer_reports.py")
        words = [str(python), str(program), encoding, "1", str(VALUES), str(index), str(trials)]
        octets = np.frombuffer(bytes.fromhex(_run(words)), dtype=np.uint8).reshape(trials, -1)
        hits.append(int(event.marks(octets, np.zeros(trials, dtype=np.int64)).sum()))
    contrast = Contrast(hits[0], trials, hits[1], trials)
    return PeerLoss(version, encoding, contrast.loss_low(ALPHA), contrast.loss_high(ALPHA))


def _run(words: list[str]) -> str:
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    return done.stdout


def _main(folder: Path) -> None:
    for loss in audit_peers(folder):
        sys.stdout.write(
            f"pure-ldp {loss.version} {loss.encoding}: asked for epsilon 1, "
            f"gives away {loss.low:.3f} to {loss.high:.3f}\n"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(prefix="rumor-peers-") as temporary:
            _main(Path(temporary))
