"""The permanent answer by Google's RAPPOR clients' rule: one byte of chance for each Bloom bit.

There is noise iff (byte >> 1) < 128 f. The permanent bit is byte & 1 where there is, else the Bloom
bit. The bytes are Rumor's own stream and not that of a Google client: two answers that share one
and differ in f are the same coins against two thresholds, and a 1 under the small f beside a 0
under the large one gives the Bloom bit away with certainty.
Source: google/rappor at a13fa964 (2017), client/python, client/cpp, client/java.
"""

from __future__ import annotations

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.probability import BITS
from rumor_shared.rappor_md5 import NOISE_STEPS


def respond(bloom: int, bits: int, half_f: int, randomness: Randomness) -> int:
    """Return the permanent answer to a filter of `bits` bits, from one byte of chance a bit.

    `half_f` / 2**64 is f/2, and f a multiple of 1/128: a bit is a fair coin with probability f.
    """
    steps = half_f >> (BITS - 8)
    answer = 0
    for bit in range(bits):
        byte = randomness.below(2 * NOISE_STEPS)
        kept = byte & 1 if byte >> 1 < steps else bloom >> bit & 1
        answer |= kept << bit
    return answer
