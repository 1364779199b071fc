"""The tally: integer counts of perturbed reports, and nothing else about anyone. Tallies add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_shared.bits import payload_length
from rumor_shared.mechanism import Mechanism

# One byte for each bit while they are summed: 16 MiB at a time.
_UNPACKED = 1 << 24


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of one metric's revision over any set of days.

    `reports` int64, shape (cohorts,): how many reports each cohort made.
    `counts` int64, shape (cohorts, cells): the sum of their increments.
    """

    reports: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def empty(cls, mechanism: Mechanism) -> Tally:
        """Return the tally of no report at all, in the shape of `mechanism`."""
        cohorts = mechanism.cohorts
        return cls(
            np.zeros(cohorts, dtype=np.int64), np.zeros((cohorts, mechanism.cells), dtype=np.int64)
        )

    @property
    def n(self) -> int:
        """How many reports were counted, over all cohorts."""
        return int(self.reports.sum())

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of both sets of reports. Raises ValueError if the shapes differ."""
        if self.counts.shape != other.counts.shape or self.reports.shape != other.reports.shape:
            raise ValueError(
                f"tallies of shapes {self.counts.shape} and {other.counts.shape} do not add"
            )
        return Tally(self.reports + other.reports, self.counts + other.counts)


def bit_tally(payloads: Sequence[bytes], bits: int) -> NDArray[np.int64]:
    """Return int64 (bits,): in how many of the checked payloads each bit is set.

    Bit 0 is the least significant bit of the first byte, as `rumor_shared.bits` lays it out.
    """
    length = payload_length(bits)
    total = np.zeros(bits, dtype=np.int64)
    step = max(1, _UNPACKED // bits)
    for start in range(0, len(payloads), step):
        block = np.frombuffer(b"".join(payloads[start : start + step]), dtype=np.uint8)
        vectors = np.unpackbits(block.reshape(-1, length), axis=1, count=bits, bitorder="little")
        total += vectors.sum(axis=0, dtype=np.int64)
    return total


def read_integers(payloads: Sequence[bytes], width: int) -> NDArray[np.int64]:
    """Return the integers that payloads hold, little-endian, `width` (at most 7) bytes each."""
    octets = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, width)
    return octets.astype(np.int64) @ (np.int64(256) ** np.arange(width, dtype=np.int64))


def integer_tally(payloads: Sequence[bytes], width: int, cells: int) -> NDArray[np.int64]:
    """Return int64 (cells,): how often each integer below `cells` came in checked payloads."""
    counted = np.bincount(read_integers(payloads, width), minlength=cells)
    return counted.astype(np.int64, copy=False)
