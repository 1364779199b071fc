"""How a tally lies in a database: chunks of cells, so that a report touches one row or two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.tally import Tally

# Half a page of SQLite's: a report touches one or two pages of a tally, whatever the domain.
CHUNK_CELLS = 256
INT64 = np.dtype("<i8")


@dataclass(frozen=True, slots=True, eq=False)
class TallyRow:
    """What a group of reports brings to one cohort of a series on one day; less than 0 to take it.

    `counts` int64, shape (cells,).
    """

    series: int
    day: date
    cohort: int
    reports: int
    counts: NDArray[np.int64]

    def chunks(self) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Yield (chunk, reports, cells) of what is touched; chunk 0 alone counts the reports."""
        if len(self.counts) <= CHUNK_CELLS:
            yield 0, self.reports, self.counts
            return
        for chunk in sorted({0, *(np.flatnonzero(self.counts) // CHUNK_CELLS).tolist()}):
            part = self.counts[chunk * CHUNK_CELLS : (chunk + 1) * CHUNK_CELLS]
            yield chunk, 0 if chunk else self.reports, part


def add_chunk(total: Tally, cohort: int, chunk: int, reports: int, cells: bytes) -> None:
    """Add a row as a database holds it to a tally, in place."""
    total.reports[cohort] += reports
    start = chunk * CHUNK_CELLS
    counts = np.frombuffer(cells, dtype=INT64)
    total.counts[cohort, start : start + len(counts)] += counts
