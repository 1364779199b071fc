"""A file of tallies that travels from one collector to another: counts, and what they count.

It is a .npz archive of int64 arrays and a header in JSON. Nothing in it is a report: each entry is
the tally of one revision of a metric on one day, with the fingerprint of what its cells mean and
the collectors whose reports are in it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor_server.oracles.tally import Tally
from rumor_shared.days import parse_day
from rumor_shared.errors import RumorError

FORMAT = "rumor tallies 1"
# Sixteen bytes, in hexadecimal.
_SOURCE_LENGTH = 32


class TallyFileError(RumorError):
    """A file of tallies can't be used; `field` is what is wrong with it."""

    def __init__(self, field: str, what: str) -> None:
        self.field = field
        super().__init__(f"{field}: {what}")


@dataclass(frozen=True, eq=False)
class DayTally:
    """The tally of a metric's revision on one day, and the collectors whose reports it counts."""

    metric: str
    revision: int
    fingerprint: str
    day: date
    sources: frozenset[str]
    tally: Tally

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{self.metric} revision {self.revision} of {self.day}"


def write_tallies(path: Path, tallies: Sequence[DayTally]) -> None:
    """Write a file of tallies, whole or not at all."""
    header = [
        {
            "metric": entry.metric,
            "revision": entry.revision,
            "fingerprint": entry.fingerprint,
            "day": entry.day.isoformat(),
            "sources": sorted(entry.sources),
        }
        for entry in tallies
    ]
    text = json.dumps({"format": FORMAT, "tallies": header})
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(text.encode(), dtype=np.uint8)}
    for i, entry in enumerate(tallies):
        arrays[f"reports_{i}"], arrays[f"counts_{i}"] = entry.tally.reports, entry.tally.counts
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    beside.replace(path)


def read_tallies(path: Path) -> list[DayTally]:
    """Read a file of tallies. Raises TallyFileError for one that is not, OSError if unreadable."""
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                header = json.loads(arrays["header"].tobytes())
                if header["format"] != FORMAT:
                    raise TallyFileError("format", f"is not {FORMAT!r}; export it again")
                return [_entry(i, given, arrays) for i, given in enumerate(header["tallies"])]
        except (zipfile.BadZipFile, EOFError, KeyError, TypeError, ValueError) as error:
            raise TallyFileError(
                str(path), f"is not a file of tallies ({type(error).__name__}); export it again"
            ) from None


def _entry(i: int, given: dict[str, Any], arrays: Any) -> DayTally:
    tally = Tally(arrays[f"reports_{i}"], arrays[f"counts_{i}"])
    entry = DayTally(
        metric=given["metric"],
        revision=given["revision"],
        fingerprint=given["fingerprint"],
        day=parse_day(given["day"]),
        sources=frozenset(given["sources"]),
        tally=tally,
    )
    if tally.reports.dtype != np.int64 or tally.counts.dtype != np.int64:
        raise TallyFileError(f"tallies[{i}]", "counts are not integers; export it again")
    if tally.counts.ndim != 2 or tally.reports.shape != tally.counts.shape[:1]:
        raise TallyFileError(f"tallies[{i}]", "counts have no such shape; export it again")
    if (tally.counts < 0).any() or (tally.counts > tally.reports[:, None]).any():
        raise TallyFileError(f"tallies[{i}]", "a cell counts what no reports can; export it again")
    if not entry.sources or any(len(bytes.fromhex(s)) * 2 != _SOURCE_LENGTH for s in entry.sources):
        raise TallyFileError(f"tallies[{i}].sources", "names no collector; export it again")
    return entry
