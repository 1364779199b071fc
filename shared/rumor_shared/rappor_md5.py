"""What Google's RAPPOR clients do their own way: their Bloom bits, and the f they really have.

    digest = MD5(cohort as four bytes, big-endian || value)

    client    digest bytes a hash                     permanent noise with probability f of
    exact     as cpp                                  f
    python    1                                       ceil(128 f) / 128
    cpp       1 while k <= 256, else as many as       floor(128 f) / 128
              k - 1 needs, little-endian
    java      2, big-endian                           round(128 f) / 128

A hash is its bytes modulo k. The clients take seven bits of a byte for the noise of a Bloom bit, so
each rounds f in its own way, and reports must be read with the f of the client that made them.
`exact` is for reports whose noise was drawn with f itself: Google's filters, anyone's noise.
Source: google/rappor at a13fa964 (2017), client/python, client/cpp, client/java.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor

DIGEST_BYTES = 16
# A client's noise is a number of these: it compares seven bits of a byte with 128 f.
NOISE_STEPS = 128


class RapporClient(StrEnum):
    """Whose arithmetic made the reports."""

    EXACT = "exact"
    PYTHON = "python"
    CPP = "cpp"
    JAVA = "java"


def effective_f(f: Fraction, client: RapporClient) -> Fraction:
    """Return the probability of permanent noise that a client has where it is configured with f."""
    match client:
        case RapporClient.EXACT:
            return f
        case RapporClient.PYTHON:
            steps = ceil(NOISE_STEPS * f)
        case RapporClient.CPP:
            steps = floor(NOISE_STEPS * f)
        case RapporClient.JAVA:
            steps = floor(NOISE_STEPS * f + Fraction(1, 2))
    return Fraction(steps, NOISE_STEPS)


def bytes_a_hash(bits: int, client: RapporClient) -> int:
    """Return how many bytes of the digest make one hash in a filter of `bits` bits."""
    match client:
        case RapporClient.PYTHON:
            return 1
        case RapporClient.JAVA:
            return 2
        case _:
            return max(1, ((bits - 1).bit_length() + 7) // 8)


def most_bits(client: RapporClient) -> int | None:
    """Return the longest filter that a client fills, None where only the digest bounds it."""
    match client:
        case RapporClient.PYTHON:
            return 256  # what one byte can address
        case RapporClient.JAVA:
            return 4096  # Encoder.MAX_BITS
        case _:
            return None


def most_hashes(bits: int, client: RapporClient) -> int:
    """Return how many hashes the digest holds for a filter of `bits` bits."""
    return DIGEST_BYTES // bytes_a_hash(bits, client)


def bloom_bits(
    value: bytes, cohort: int, hashes: int, bits: int, client: RapporClient = RapporClient.EXACT
) -> tuple[int, ...]:
    """Return the bits that a value sets in a cohort's filter, in the order of the hashes.

    Two hashes may coincide. Raises ValueError if the digest is too short for `hashes`.
    """
    if hashes > most_hashes(bits, client):
        raise ValueError(f"MD5 holds {most_hashes(bits, client)} hashes of {bits} bits: ask fewer")
    message = cohort.to_bytes(4, "big") + value
    digest = hashlib.md5(message, usedforsecurity=False).digest()
    size = bytes_a_hash(bits, client)
    step = -1 if client is RapporClient.JAVA else 1
    return tuple(
        int.from_bytes(digest[start : start + size][::step], "little") % bits
        for start in range(0, hashes * size, size)
    )
