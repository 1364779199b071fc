"""`rumor_shared.hashing` for a million candidates at once: the same integers, in numpy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_shared.hashing import MIX_1, MIX_2, hash_bytes, salt
from rumor_shared.text import TextProblem, canonical_bytes

Words = NDArray[np.uint64]


class CandidateError(ValueError):
    """A candidate can't have been recorded by any device; `index` is its place in the list."""

    def __init__(self, index: int, what: str) -> None:
        self.index = index
        super().__init__(f"candidates[{index}]: {what}; remove it or write it in valid text")


@dataclass(frozen=True, eq=False)
class Candidates:
    """Texts and the two halves of their hashes, uint64 (candidates,) each."""

    texts: tuple[str, ...]
    first: Words
    second: Words

    def __len__(self) -> int:
        return len(self.texts)


def hash_candidates(texts: Iterable[str]) -> Candidates:
    """Normalise and hash each text once. A text that is given again, in any form, is dropped.

    Raises CandidateError for a text that has no UTF-8 or is longer than any value may be.
    """
    encoded: dict[bytes, None] = {}
    for index, text in enumerate(texts):
        try:
            encoded[canonical_bytes(text)] = None
        except TextProblem as error:
            raise CandidateError(index, error.what) from None
    halves = np.array([hash_bytes(data) for data in encoded], dtype=np.uint64).reshape(-1, 2)
    return Candidates(tuple(data.decode() for data in encoded), halves[:, 0], halves[:, 1])


def salts(key: int, cohorts: int, hashes: int) -> Words:
    """Return the salt of every hash of every cohort, uint64 (cohorts, hashes)."""
    table = [[salt(key, cohort, number) for number in range(hashes)] for cohort in range(cohorts)]
    return np.array(table, dtype=np.uint64)


def mix(words: Words) -> Words:
    """Return SplitMix64's finaliser of each word, which is overwritten."""
    words ^= words >> np.uint64(30)
    words *= np.uint64(MIX_1)
    words ^= words >> np.uint64(27)
    words *= np.uint64(MIX_2)
    words ^= words >> np.uint64(31)
    return words


def positions(first: Words, second: Words, salted: Words, size: int) -> NDArray[np.int64]:
    """Return where values fall among `size` cells, int64 (values, cohorts, hashes).

    `first` and `second` (values,) are halves of hashes; `salted` is (cohorts, hashes). Two hashes
    of a value may fall on the same cell.
    """
    words = mix(first[:, None, None] ^ salted)
    words += second[:, None, None]
    words = mix(words)
    words >>= np.uint64(32)
    words *= np.uint64(size)
    words >>= np.uint64(32)
    return words.view(np.int64)
