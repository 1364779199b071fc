"""Intervals that invert the score test with its true variance: for nearly normal counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.intervals.count_law import CountLaw, Counts


def score_interval(
    law: CountLaw, counts: Counts | NDArray[np.floating[Any]], z: float | Floats
) -> tuple[Floats, Floats]:
    """Return all f with |estimate - f| <= z sd(f), where sd(f)^2 = b + a f is the exact variance.

    Wilson's construction (1927) for a variance that is linear in f: the two roots of
    f^2 - (2 fhat + z^2 a) f + fhat^2 - z^2 b = 0. They enclose the raw signed estimate and are not
    clipped to [0, 1]. Unlike fhat +- z sd(fhat), they don't shrink because fhat happens to be low.
    """
    a, b = law.variance_terms()
    frequency = law.frequency(counts)
    half = z * z * a / 2
    # b + a fhat >= 0 for every count from 0 to trials; rounding alone can pass below.
    root = np.sqrt(np.maximum(half * half + z * z * (b + a * frequency), 0))
    return frequency + half - root, frequency + half + root
