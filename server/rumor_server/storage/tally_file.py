"""A file of tallies that travels from one collector to another: counts, and what they count.

It is a .npz archive of int64 arrays and a header in JSON. Nothing in it is a report: each entry is
the tally of one revision of a metric on one day, with the fingerprint of what its cells mean and
the collectors whose reports are in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.tally import Tally
from rumor_shared.days import parse_day
from rumor_shared.errors import RumorError
from rumor_shared.mechanism import MAX_CELLS

# A tally of int64 cells, and an array's own header: a file of a megabyte may say a gigabyte.
_MOST_BYTES = 8 * MAX_CELLS + 4096
T = TypeVar("T")

FORMAT = "rumor tallies 1"
SOURCE_BYTES = 16
# A day's reports: 30,000 for every person, and still 2^15 such tallies add without passing 64 bits.
_MOST_REPORTS = 2**48


class TallyFileError(RumorError):
    """A file of tallies can't be used; `field` is what is wrong with it."""

    def __init__(self, field: str, what: str) -> None:
        self.field = field
        super().__init__(f"{field}: {what}")


@dataclass(frozen=True, eq=False)
class DayTally:
    """The tally of a metric's revision on one day.

    `sources` are the collectors whose reports it counts, by their public names of 16 bytes.
    """

    metric: str
    revision: int
    fingerprint: str
    day: date
    sources: frozenset[bytes]
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
            "sources": sorted(source.hex() for source in entry.sources),
        }
        for entry in tallies
    ]
    text = json.dumps({"format": FORMAT, "tallies": header})
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(text.encode(), dtype=np.uint8)}
    for i, entry in enumerate(tallies):
        arrays[f"reports_{i}"], arrays[f"counts_{i}"] = entry.tally.reports, entry.tally.counts
    path = path.absolute()
    staged = path.with_name(f".{path.name}.new")
    try:
        with staged.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)


def read_tallies(path: Path) -> list[DayTally]:
    """Read a file of tallies. Raises TallyFileError for one that is not, OSError if unreadable."""
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                if any(member.file_size > _MOST_BYTES for member in arrays.zip.infolist()):
                    raise TallyFileError(str(path), "holds more than a tally can; export it again")
                header = json.loads(arrays["header"].tobytes())
                if header["format"] != FORMAT:
                    raise TallyFileError("format", f"is not {FORMAT!r}; export it again")
                return [_entry(i, given, arrays) for i, given in enumerate(header["tallies"])]
        except TallyFileError:
            raise
        except Exception as error:
            # numpy, zipfile, zlib and json have a dozen kinds of error for a damaged file.
            raise TallyFileError(
                str(path), f"is not a file of tallies ({type(error).__name__}); export it again"
            ) from None


def _entry(i: int, given: dict[str, Any], arrays: Any) -> DayTally:
    tally = Tally(arrays[f"reports_{i}"], arrays[f"counts_{i}"])
    _check_counts(f"tallies[{i}]", tally)
    sources = frozenset(bytes.fromhex(source) for source in given["sources"])
    if not sources or any(len(source) != SOURCE_BYTES for source in sources):
        raise TallyFileError(f"tallies[{i}].sources", "names no collector; export it again")
    return DayTally(
        metric=_typed(str, given["metric"]),
        revision=_typed(int, given["revision"]),
        fingerprint=_typed(str, given["fingerprint"]),
        day=parse_day(given["day"]),
        sources=sources,
        tally=tally,
    )


def _check_counts(field: str, tally: Tally) -> None:
    if tally.reports.dtype != np.int64 or tally.counts.dtype != np.int64:
        raise TallyFileError(field, "counts are not integers; export it again")
    if tally.counts.ndim != 2 or tally.reports.shape != tally.counts.shape[:1]:
        raise TallyFileError(field, "counts have no such shape; export it again")
    if (tally.counts < 0).any() or (tally.counts > tally.reports[:, None]).any():
        raise TallyFileError(field, "a cell counts what no reports can; export it again")
    # In floating point, where a sum can't wrap round.
    if tally.reports.sum(dtype=np.float64) > _MOST_REPORTS:
        raise TallyFileError(field, "more reports than a day can have; export it again")


def _typed(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError
    return value
