"""Hash a value once, then mix integers.

A value's bytes are hashed once with MurmurHash3 x64 128, seed 0, into two unsigned 64-bit halves,
both read little-endian. Which Bloom bits, local hash or sketch column a cohort uses follows by
integer mixing with the finaliser of SplitMix64 (Steele, Lea, Flood 2014, variant 13 of Stafford),
so that a server does it for a million candidates in numpy and a client in another language in ten
lines:

    key    = mix(a ^ mix(b + revision * GAMMA))       a, b = halves of the metric name's hash
    salt   = mix(key + GAMMA * (cohort * 256 + number + 1))
    number-th position = ((mix(mix(first ^ salt) + second)) >> 32) * size >> 32

All arithmetic is modulo 2**64.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import mmh3

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB

# Numbers of the hash within a cohort share the low byte of the salt's counter.
MAX_HASHES = 256
# A device keeps its cohort, so its salts stay: an app has dozens of metrics.
_REMEMBERED = 1024
# Positions come from the upper 32 bits, so their bias stays below size / 2**32.
MAX_SIZE = 1 << 22


class ValueHash(NamedTuple):
    """The two little-endian halves of a value's 128-bit hash."""

    first: int
    second: int


def hash_bytes(data: bytes) -> ValueHash:
    """Return the MurmurHash3 x64 128 of `data`, seed 0, as two unsigned 64-bit integers."""
    return ValueHash(*mmh3.mmh3_x64_128_utupledigest(data, 0))


def mix(z: int) -> int:
    """Return SplitMix64's finaliser of a 64-bit integer: a bijection that avalanches."""
    z = (z ^ (z >> 30)) * MIX_1 & MASK
    z = (z ^ (z >> 27)) * MIX_2 & MASK
    return z ^ (z >> 31)


def metric_key(metric: str, revision: int) -> int:
    """Return the 64-bit key from which all hashes of one metric's revision derive."""
    halves = hash_bytes(metric.encode("ascii"))
    return mix(halves.first ^ mix((halves.second + revision * GAMMA) & MASK))


def salt(key: int, cohort: int, number: int) -> int:
    """Return the salt of hash `number` in `cohort`."""
    return mix((key + GAMMA * (cohort * MAX_HASHES + number + 1)) & MASK)


def position(value: ValueHash, salted: int, size: int) -> int:
    """Return where a value falls among `size` cells under one salt."""
    first, second = value
    # `mix` twice, written out: a sketch is a few of these, and calls are a fifth of them.
    z = first ^ salted
    z = (z ^ (z >> 30)) * MIX_1 & MASK
    z = (z ^ (z >> 27)) * MIX_2 & MASK
    z = ((z ^ (z >> 31)) + second) & MASK
    z = (z ^ (z >> 30)) * MIX_1 & MASK
    z = (z ^ (z >> 27)) * MIX_2 & MASK
    return (((z ^ (z >> 31)) >> 32) * size) >> 32


def positions(value: ValueHash, key: int, cohort: int, count: int, size: int) -> tuple[int, ...]:
    """Return the cells of the first `count` hashes in `cohort`; they may coincide."""
    return tuple([position(value, salted, size) for salted in _salts(key, cohort, count)])


@lru_cache(maxsize=_REMEMBERED)
def _salts(key: int, cohort: int, count: int) -> tuple[int, ...]:
    return tuple(salt(key, cohort, number) for number in range(count))
