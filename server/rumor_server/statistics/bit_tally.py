"""Sum bit vectors: how many of the payloads set each bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_shared.bits import payload_length

# One byte for each bit while they are summed: 16 MiB at a time.
_UNPACKED = 1 << 24


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
