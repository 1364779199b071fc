"""RAPPOR's own cases, read from their files without the collector's reader."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.server.statistics.decoding.simulated_sketch import rappor_rates

from rumor_server.statistics.decoding import DecodedSketch, decode_sketch

FOLDER = Path(__file__).parents[3] / "data" / "rappor"


@dataclass(frozen=True)
class Case:
    """Tally, map, rates and truth of a case; `missing` is the true share that the map lacks."""

    counts: NDArray[np.int64]
    n: NDArray[np.int64]
    p1: float
    p0: float
    positions: NDArray[np.int64]
    names: list[str]
    truth: NDArray[np.float64]
    missing: float

    def decode(self) -> DecodedSketch:
        """Decode at a false discovery rate of 5%."""
        decoded = decode_sketch(
            self.counts,
            self.n,
            self.p1,
            self.p0,
            lambda start, stop: self.positions[start:stop],
            len(self.names),
            hashes=self.positions.shape[2],
        )
        assert decoded is not None
        return decoded

    def found(self, decoded: DecodedSketch) -> tuple[int, int]:
        """True and false strings among those selected."""
        chosen = decoded.selected
        return int((chosen & (self.truth > 0)).sum()), int((chosen & (self.truth == 0)).sum())

    def distance(self, decoded: DecodedSketch) -> float:
        """Total variation distance of the selected shares from the truth, as RAPPOR's tests do."""
        shown = np.where(decoded.selected, decoded.fitted, 0.0)
        return float(np.abs(shown - self.truth).sum() + self.missing) / 2


def read_case(name: str, client: str) -> Case:
    """Read a case; a C++ client's effective f is floor(128 f)/128, a simulation's is f."""
    folder = FOLDER / name
    params = _rows(folder / "params.csv")
    values = {key: float(value) for key, value in zip(*params, strict=True)}
    cells, hashes, cohorts = (int(values[key]) for key in ("k", "h", "m"))
    f = math.floor(128 * values["f"]) / 128 if client == "cpp" else values["f"]
    p1, p0 = rappor_rates(values["p"], values["q"], f)
    table = np.array(_rows(folder / "counts.csv"), dtype=np.int64)
    names, positions = [], []
    for row in _rows(folder / "map.csv"):
        owned: list[list[int]] = [[] for _ in range(cohorts)]
        for entry in filter(None, row[1:]):
            owned[(int(entry) - 1) // cells].append((int(entry) - 1) % cells)
        names.append(row[0])
        # A cell that two hashes hit is listed once in some maps, twice in others.
        positions.append([(bits * hashes)[:hashes] for bits in owned])
    counted: dict[str, int] = {}
    if (folder / "true_hist.csv").exists():
        counted = {row[0]: int(row[1]) for row in _rows(folder / "true_hist.csv")[1:]}
    total = max(1, sum(counted.values()))
    truth = np.array([counted.get(name, 0) / total for name in names])
    return Case(
        table[:, 1:],
        table[:, 0],
        p1,
        p0,
        np.array(positions, dtype=np.int64),
        names,
        truth,
        1 - float(truth.sum()),
    )


def _rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return [row for row in csv.reader(file) if row]
