"""Sum reports that are one integer each: how often each of them came."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def read_integers(payloads: Sequence[bytes], width: int) -> NDArray[np.int64]:
    """Return the integers that payloads hold, little-endian, `width` (at most 7) bytes each."""
    octets = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, width)
    return octets.astype(np.int64) @ (np.int64(256) ** np.arange(width, dtype=np.int64))


def integer_tally(payloads: Sequence[bytes], width: int, cells: int) -> NDArray[np.int64]:
    """Return int64 (cells,): how often each integer below `cells` came in checked payloads."""
    counted = np.bincount(read_integers(payloads, width), minlength=cells)
    return counted.astype(np.int64, copy=False)
