"""Base-Cut: keep what can't be noise, zero the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rumor_server.statistics.intervals.significance import check_alpha

Floats = NDArray[np.float64]


def base_cut(frequency: Floats, std_error: Floats, *, alpha: float = 0.05) -> Floats:
    """Return the raw shares, with zero for each below its std_error times Phi^-1(1 - alpha / k).

    With probability 1 - alpha no value that is absent stays. What stays is not changed, so the
    shares need not add up to 1 (Wang et al., NDSS 2020). Raises ValueError unless 0 < alpha < 1.
    """
    check_alpha(alpha)
    threshold = -ndtri(alpha / max(1, len(frequency))) * std_error
    return np.where(frequency >= threshold, frequency, 0.0)
