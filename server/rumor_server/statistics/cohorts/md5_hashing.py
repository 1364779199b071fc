"""`rumor_shared.rappor_md5` for many candidates at once: the same Bloom bits, as an array."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.decoding import Positions
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.rappor_md5 import DIGEST_BYTES, RapporClient, bytes_a_hash

# Digests held at once: 16 MiB of them, whatever the number of candidates.
_CHUNK = 1 << 20


def md5_bits(values: Sequence[bytes], mechanism: Rappor) -> NDArray[np.unsignedinteger]:
    """Return the bits that each value sets, (values, cohorts, hashes), in the narrowest type."""
    cohorts, hashes, bits = mechanism.cohorts, mechanism.hashes, mechanism.bits
    size = bytes_a_hash(bits, mechanism.client)
    places = np.arange(size, dtype=np.int64)
    if mechanism.client is RapporClient.JAVA:
        places = places[::-1]
    found = np.empty((len(values), cohorts, hashes), dtype=np.min_scalar_type(bits - 1))
    prefixes = [cohort.to_bytes(4, "big") for cohort in range(cohorts)]
    step = max(1, _CHUNK // cohorts)
    for start in range(0, len(values), step):
        block = values[start : start + step]
        digests = b"".join(
            hashlib.md5(prefix + value, usedforsecurity=False).digest()
            for value in block
            for prefix in prefixes
        )
        octets = np.frombuffer(digests, dtype=np.uint8).reshape(-1, cohorts, DIGEST_BYTES)
        taken = octets[:, :, : hashes * size].reshape(-1, cohorts, hashes, size)
        words = (taken.astype(np.int64) << (8 * places)).sum(axis=-1)
        found[start : start + step] = words % bits
    return found


def md5_positions(texts: Sequence[str], mechanism: Rappor) -> Positions:
    """Return the decoder's view of candidates whose filters were made by a client of Google's.

    Every candidate is hashed once, cohorts x hashes bytes of memory each (two where a filter has
    more than 256 bits): the decoder asks several times, and MD5 is most of the work.
    """
    found = md5_bits([text.encode("utf-8", "strict") for text in texts], mechanism)
    return lambda start, stop: found[start:stop]
