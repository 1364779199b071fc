"""Three draws on a stream of random bytes: the only way a mechanism meets chance.

`system_randomness()` reads the operating system's CSPRNG; it is the one accessor of production
code, holds no bytes between reports and is therefore safe across fork. `permanent_randomness` reads
SHAKE-256 of the device secret, so that a permanent answer is the same after every restart. Both are
read in the same order, so one set of test vectors describes both:

- a Bernoulli draw compares a uniform number u with the numerator of its probability, binary digit
  by binary digit from the most significant of 64; u < numerator is a success;
- a vector of `count` bits takes ceil(count / 8) bytes for one digit of every u at once,
  little-endian within and across bytes, and stops as soon as every comparison is decided
  (word-parallel; Knuth and Yao 1976 for the lazy comparison): a 128-bit vector takes about nine
  reads of 16 bytes;
- a uniform choice below n reads the least number of bytes that hold n - 1, little-endian, masks
  them to the bits of n - 1 and rejects what is not below n.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from rumor_shared.probability import BITS, ONE
from rumor_shared.wire import length_prefixed

PERMANENT_LABEL = "rumor/permanent/1"

# One system call for nine digits of a 128-bit vector and most of what follows.
_CHUNK = 192
# SHAKE-256 has a rate of 136 bytes: two blocks serve most permanent answers.
_FIRST_SQUEEZE = 272

ReadBytes = Callable[[int], bytes]


class Randomness:
    """Draws of exact probability from a stream of uniform bytes.

    `read(n)` returns the next n bytes of the stream.
    """

    __slots__ = ("_read",)

    def __init__(self, read: ReadBytes) -> None:
        self._read = read

    def bernoulli(self, numerator: int) -> bool:
        """Return True with probability exactly numerator / 2**64."""
        return self.bits(1, 1, numerator, 0) == 1

    def below(self, n: int) -> int:
        """Return an integer in [0, n), each with probability exactly 1 / n."""
        width = (n - 1).bit_length()
        mask = (1 << width) - 1
        size = (width + 7) // 8
        while True:
            drawn = int.from_bytes(self._read(size), "little") & mask
            if drawn < n:
                return drawn

    def unless(self, numerator: int, own: int, n: int) -> int:
        """Return `own` with probability exactly numerator / 2**64, else uniformly one of the
        others.

        The result is in [0, n). Both draws are made in either case, so that the work done does not
        show which was taken; the lie is drawn among n - 1, so that it never hits the truth.
        """
        kept = self.bernoulli(numerator)
        other = self.below(n - 1)
        return own if kept else other + (other >= own)

    def bits(self, count: int, set_mask: int, if_set: int, if_clear: int) -> int:
        """Return `count` independent bits as an integer.

        Bit i is 1 with probability exactly if_set / 2**64 where bit i of `set_mask` is 1, and
        if_clear / 2**64 elsewhere.
        """
        size = (count + 7) // 8
        undecided = (1 << count) - 1
        clear_mask = undecided & ~set_mask
        ones = 0
        if if_set == ONE:
            ones |= set_mask
            undecided &= clear_mask
        if if_clear == ONE:
            ones |= clear_mask
            undecided &= set_mask
        thresholds = (0, clear_mask, set_mask, set_mask | clear_mask)
        # Below their lowest digit both thresholds are zero: an undecided u is not less than either.
        lowest = ((if_set | if_clear | ONE) & -(if_set | if_clear | ONE)).bit_length() - 1
        read, to_int = self._read, int.from_bytes
        for digit in range(BITS - 1, lowest - 1, -1):
            if not undecided:
                break
            threshold = thresholds[(if_set >> digit & 1) << 1 | if_clear >> digit & 1]
            differs = undecided & (to_int(read(size), "little") ^ threshold)
            ones |= differs & threshold
            undecided ^= differs
        return ones


class _Squeeze:
    """The output of an extendable hash, read from the start."""

    def __init__(self, digest: Callable[[int], bytes]) -> None:
        self._digest = digest
        self._squeezed = digest(_FIRST_SQUEEZE)
        self._at = 0

    def __call__(self, size: int) -> bytes:
        end = self._at + size
        while end > len(self._squeezed):
            self._squeezed = self._digest(2 * len(self._squeezed))
        drawn = self._squeezed[self._at : end]
        self._at = end
        return drawn


class _SystemBytes:
    """Bytes of the operating system's CSPRNG for one report, fetched in chunks."""

    def __init__(self) -> None:
        self._chunk = b""
        self._at = 0

    def __call__(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._chunk):
            self._chunk = self._chunk[self._at :] + os.urandom(max(_CHUNK, size))
            self._at, end = 0, size
        drawn = self._chunk[self._at : end]
        self._at = end
        return drawn


def system_randomness() -> Randomness:
    """Return fresh randomness for one report. Make a new one for the next: it must not outlive a
    fork.
    """
    return Randomness(_SystemBytes())


def permanent_randomness(
    secret: bytes, metric: str, revision: int, cohort: int, value: bytes
) -> Randomness:
    """Return the randomness of one permanent answer: SHAKE-256 of the secret and what is answered.

    What is hashed: the label "rumor/permanent/1", secret, metric, revision, cohort and value, each
    length-prefixed.
    """
    import hashlib  # imported on first use: it is a quarter of this package's import time

    message = length_prefixed(PERMANENT_LABEL, secret, metric, revision, cohort, value)
    return Randomness(_Squeeze(hashlib.shake_256(message).digest))
