"""Where texts fall under the hashes of cohorts: `rumor_shared.hashing` for pairs, in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.cohorts.candidate_hashing import mix, salts
from rumor_shared.hashing import hash_bytes
from rumor_shared.metric import Metric

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]


class CohortHashes:
    """The hashes of some texts of a metric, `hashes` a cohort, to `size` cells."""

    def __init__(self, metric: Metric, texts: Sequence[str], size: int, hashes: int = 1) -> None:
        halves = [hash_bytes(text.encode("utf-8", "strict")) for text in texts]
        table = np.array(halves, dtype=np.uint64).reshape(-1, 2)
        self._first, self._second = table[:, 0].copy(), table[:, 1].copy()
        self._salts: Words = salts(metric.key, metric.mechanism.cohorts, hashes)
        self._size = size

    def cells(self, value: Indices, cohort: Indices) -> Indices:
        """Return int64 (pairs, hashes): where text number `value` falls in `cohort`, pair by pair.

        `value` and `cohort` are broadcast against each other; the hashes come last.
        """
        value, cohort = np.broadcast_arrays(value, cohort)
        words = mix(self._first[value][..., None] ^ self._salts[cohort])
        words += self._second[value][..., None]
        words = mix(words)
        words >>= np.uint64(32)
        words *= np.uint64(self._size)
        words >>= np.uint64(32)
        return words.view(np.int64)
