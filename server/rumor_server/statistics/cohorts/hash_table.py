"""Which cell each value of a closed domain owns in each cohort, worked out once and kept."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.cohorts.candidate_hashing import fill_positions, hash_candidates, salts

# Entries of a table that is kept whole: 128 MiB at most, for two metrics at a time.
MAX_ENTRIES = 1 << 25
_KEPT = 2
# Entries worked out at once: two arrays of 128 KiB stay in the cache (measured).
_BLOCK = 1 << 14


@lru_cache(maxsize=_KEPT)
def hash_table(key: int, cohorts: int, cells: int, values: tuple[str, ...]) -> NDArray[np.integer]:
    """Return the cell of each value in each cohort, (cohorts, values), read-only.

    `key` is the metric's. The type is the smallest unsigned one that holds a cell.
    """
    hashed = hash_candidates(values)
    salted = salts(key, cohorts, 1)
    table = np.empty((cohorts, len(values)), dtype=np.min_scalar_type(cells - 1))
    step = min(cohorts, max(1, _BLOCK // len(values)))
    words, spare = np.empty((2, step, len(values)), dtype=np.uint64)
    for start in range(0, cohorts, step):
        part = slice(start, min(start + step, cohorts))
        rows = part.stop - start
        fill_positions(hashed.first, hashed.second, salted[part], cells, words[:rows], spare[:rows])
        table[part] = words[:rows]
    table.flags.writeable = False
    return table
