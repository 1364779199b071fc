"""How many bits an honest report sets, whatever its value: the law of a report's weight.

Where a report is a vector of bits that are drawn one by one, b bits that the value sets are
reported with p1 and the other k - b with p0, so the weight is Bin(b, p1) + Bin(k - b, p0). No value
makes it lighter or heavier than the law of the b that it can set, so whoever sends all ones, or
nothing but their favourite, stands out without any bit of an honest report being looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.intervals.significance import above, at_most
from rumor_shared.mechanism import Bits, Mechanism

# An honest report is called light, or heavy, once in ten thousand at most: rare enough for a
# thousand reports to show a few that aren't, and it is the count that is tested, not a report.
ODD_RATE = 1e-4


@dataclass(frozen=True)
class WeightLaw:
    """An honest weight lies in [least, most] but for `light_rate` and `heavy_rate`, at most.

    The mean weight of a population lies in [mean_low, mean_high], and a report's variance is at
    most `variance`.
    """

    least: int
    most: int
    light_rate: float
    heavy_rate: float
    mean_low: float
    mean_high: float
    variance: float


@lru_cache(maxsize=256)
def weight_law(mechanism: Mechanism) -> WeightLaw | None:
    """Return the law of a report's weight, or None where its reports are no bits."""
    bits = mechanism.bit_law()
    if bits is None:
        return None
    weights = np.arange(bits.cells + 1)
    lighter, heavier = np.zeros(bits.cells + 1), np.zeros(bits.cells + 1)
    for b in {1, bits.most}:
        # Monotone in b, so the two ends bound every value between them.
        np.maximum(lighter, _tail(bits, b, weights - 1, upper=False), out=lighter)
        np.maximum(heavier, _tail(bits, b, weights, upper=True), out=heavier)
    least = int(np.flatnonzero(lighter <= ODD_RATE)[-1])
    most = int(np.flatnonzero(heavier <= ODD_RATE)[0])
    means = [b * bits.p1 + (bits.cells - b) * bits.p0 for b in (1, bits.most)]
    spread = [
        b * bits.p1 * (1 - bits.p1) + (bits.cells - b) * bits.p0 * (1 - bits.p0)
        for b in (1, bits.most)
    ]
    return WeightLaw(
        least,
        most,
        float(lighter[least]),
        float(heavier[most]),
        min(means),
        max(means),
        max(spread),
    )


def _tail(bits: Bits, b: int, weights: NDArray[np.int64], *, upper: bool) -> NDArray[np.float64]:
    """Return P[weight <= w], or P[weight > w], for each w, where a value sets b bits."""
    rest = above if upper else at_most
    total = np.zeros(len(weights))
    for own in range(b + 1):
        chance = comb(b, own) * bits.p1**own * (1 - bits.p1) ** (b - own)
        total += chance * rest(weights - own, bits.cells - b, bits.p0)
    return total
