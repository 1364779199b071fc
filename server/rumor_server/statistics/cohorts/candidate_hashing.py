"""`rumor_shared.hashing` for a million candidates at once: the same integers, in numpy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor_shared.hashing import GAMMA, MAX_HASHES, MIX_1, MIX_2, hash_bytes
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
    first = np.arange(0, cohorts * MAX_HASHES, MAX_HASHES, dtype=np.uint64)
    words: Words = np.add.outer(first, np.arange(1, hashes + 1, dtype=np.uint64))
    words *= np.uint64(GAMMA)
    words += np.uint64(key)
    return mix(words)


def mix(words: Words, spare: Words | None = None) -> Words:
    """Return SplitMix64's finaliser of each word, which is overwritten, and so is `spare`.

    `spare`, of the same shape, saves the memory of the steps between.
    """
    spare = np.empty_like(words) if spare is None else spare
    np.right_shift(words, np.uint64(30), out=spare)
    words ^= spare
    _mix_rest(words, spare)
    np.right_shift(words, np.uint64(31), out=spare)
    words ^= spare
    return words


def positions(first: Words, second: Words, salted: Words, size: int) -> NDArray[np.int64]:
    """Return where values fall among `size` cells, int64 (values, cohorts, hashes).

    `first` and `second` (values,) are halves of hashes; `salted` is (cohorts, hashes). Two hashes
    of a value may fall on the same cell.
    """
    words = np.empty((len(first), *salted.shape), dtype=np.uint64)
    fill_positions(
        first[:, None, None], second[:, None, None], salted, size, words, np.empty_like(words)
    )
    return words.view(np.int64)


def fill_positions(
    first: Words, second: Words, salted: Words, size: int, words: Words, spare: Words
) -> None:
    """Write into `words` where values fall among `size` cells; `spare` is overwritten too.

    `first`, `second` and `salted` are broadcast to the shape of `words` and `spare`.
    """
    # The first step of the mixing is linear, so each side takes it on its own, where it is small.
    np.bitwise_xor(_fold(first), _fold(salted), out=words)
    _mix_rest(words, spare)
    np.right_shift(words, np.uint64(31), out=spare)
    words ^= spare
    words += second
    np.right_shift(words, np.uint64(30), out=spare)
    words ^= spare
    _mix_rest(words, spare)
    if size > 1 and size & (size - 1) == 0:
        # The highest bits are the position, and the last step of the mixing changes none of them.
        words >>= np.uint64(65 - size.bit_length())
        return
    np.right_shift(words, np.uint64(31), out=spare)
    words ^= spare
    words >>= np.uint64(32)
    words *= np.uint64(size)
    words >>= np.uint64(32)


def _fold(words: Words) -> Words:
    return words ^ (words >> np.uint64(30))


def _mix_rest(words: Words, spare: Words) -> None:
    """Do what lies between the first and the last step of the mixing."""
    words *= np.uint64(MIX_1)
    np.right_shift(words, np.uint64(27), out=spare)
    words ^= spare
    words *= np.uint64(MIX_2)
