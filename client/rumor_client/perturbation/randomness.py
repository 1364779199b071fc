"""The random source: three draws on a stream of bytes, the only way a mechanism meets chance.

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
from functools import lru_cache

from rumor_shared.probability import BITS

PERMANENT_LABEL = "rumor/permanent/1"

# One system call serves a report: a vector of 128 bits takes nine digits or ten, and its id as many
# bytes as one digit; a single draw and the id fit the smallest chunk.
_DIGITS_A_CHUNK = 12
_SMALLEST_CHUNK = 64
# SHAKE-256 has a rate of 136 bytes: two blocks serve most permanent answers.
_FIRST_SQUEEZE = 272
# What is the same for every report of a metric is worked out once. An app has dozens of metrics,
# and a mechanism one pair of probabilities or two.
_REMEMBERED = 1024

_FROM_THE_TOP = tuple(reversed(range(BITS + 1)))

ReadBytes = Callable[[int], bytes]


class Randomness:
    """Draws of exact probability from a stream of uniform bytes.

    `read(n)` returns the next n bytes of the stream, or more of them: what a draw leaves over, the
    next draw takes first. `chunk` is the beginning of the stream, if some of it is there already.
    """

    __slots__ = ("_at", "_chunk", "_read")

    def __init__(self, read: ReadBytes, chunk: bytes = b"") -> None:
        self._read = read
        self._chunk = chunk
        self._at = 0

    def bernoulli(self, numerator: int) -> bool:
        """Return True with probability exactly numerator / 2**64."""
        # What `bits` does for one bit, in half of its time: most mechanisms ask little else.
        certain, digits = _digits(numerator, 0)
        if certain:
            return True
        chunk, at = self._chunk, self._at
        for threshold in digits:
            if at == len(chunk):
                self._at = at
                chunk, at = self._fetch(1), 0
            digit = chunk[at] & 1
            at += 1
            if digit << 1 != threshold:
                self._at = at
                return not digit
        self._at = at
        return False

    def below(self, n: int) -> int:
        """Return an integer in [0, n), each with probability exactly 1 / n."""
        width = (n - 1).bit_length()
        mask = (1 << width) - 1
        size = (width + 7) >> 3
        while True:
            at = self._at
            end = at + size
            chunk = self._chunk
            if end > len(chunk):
                chunk, at, end = self._fetch(size), 0, size
            self._at = end
            # A byte of its own is read in half the time.
            word = chunk[at] if size == 1 else int.from_bytes(chunk[at:end], "little")
            drawn = word & mask
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
        size = (count + 7) >> 3
        everywhere = (1 << count) - 1
        set_mask &= everywhere
        thresholds = (0, everywhere ^ set_mask, set_mask, everywhere)
        certain, digits = _digits(if_set, if_clear)
        ones = thresholds[certain]
        undecided = everywhere ^ ones
        chunk, at, to_int = self._chunk, self._at, int.from_bytes
        for which in digits:
            if not undecided:
                break
            end = at + size
            if end > len(chunk):
                self._at = at
                chunk, at, end = self._fetch(size), 0, size
            threshold = thresholds[which]
            differs = undecided & (to_int(chunk[at:end], "little") ^ threshold)
            at = end
            ones |= differs & threshold
            undecided ^= differs
        self._at = at
        return ones

    def _fetch(self, size: int) -> bytes:
        """Read on, so that at least `size` bytes are there, the unread ones first; return them."""
        chunk = self._chunk[self._at :]
        chunk += self._read(size - len(chunk))
        self._chunk, self._at = chunk, 0
        return chunk


@lru_cache(maxsize=_REMEMBERED)
def _digits(if_set: int, if_clear: int) -> tuple[int, tuple[int, ...]]:
    """Return the binary digits of two numerators as 2 s + c: the one of 2**64, then the others.

    Those of a certain event are 1, 0, 0 ...: a uniform number below 2**64 is less at once. The
    others go from the most significant to the last before both have only zeros: a number that
    equals a numerator so far is not less.
    """
    certain, *digits = [(if_set >> at & 1) << 1 | if_clear >> at & 1 for at in _FROM_THE_TOP]
    while digits and not digits[-1]:
        digits.pop()
    return certain, tuple(digits)


class _Squeeze:
    """The output of an extendable hash behind its first bytes."""

    __slots__ = ("_digest", "_read")

    def __init__(self, digest: Callable[[int], bytes], read: int) -> None:
        self._digest = digest
        self._read = read

    def __call__(self, size: int) -> bytes:
        done = self._read
        self._read = max(2 * done, done + size)
        return self._digest(self._read)[done:]


def _system_bytes(size: int) -> bytes:
    wanted = _DIGITS_A_CHUNK * size
    return os.urandom(wanted if wanted > _SMALLEST_CHUNK else _SMALLEST_CHUNK)


def system_randomness() -> Randomness:
    """Return fresh randomness for one report. Make a new one for the next: it must not outlive a
    fork.
    """
    return Randomness(_system_bytes)


def permanent_randomness(
    secret: bytes, metric: str, revision: int, cohort: int, value: bytes
) -> Randomness:
    """Return the randomness of one permanent answer: SHAKE-256 of the secret and what is answered.

    What is hashed: the label "rumor/permanent/1", secret, metric, revision, cohort and value, each
    length-prefixed.
    """
    import hashlib  # a device without permanent answers never needs it

    before, behind = _around_the_secret(metric, revision, cohort)
    message = b"".join(
        (
            before,
            len(secret).to_bytes(4, "little"),
            secret,
            behind,
            len(value).to_bytes(4, "little"),
            value,
        )
    )
    digest = hashlib.shake_256(message).digest
    return Randomness(_Squeeze(digest, _FIRST_SQUEEZE), digest(_FIRST_SQUEEZE))


@lru_cache(maxsize=_REMEMBERED)
def _around_the_secret(metric: str, revision: int, cohort: int) -> tuple[bytes, bytes]:
    # The secret itself is in no cache: it must not outlive a denial.
    from rumor_shared.wire import length_prefixed

    return length_prefixed(PERMANENT_LABEL), length_prefixed(metric, revision, cohort)
