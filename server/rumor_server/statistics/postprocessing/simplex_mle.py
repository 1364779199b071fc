"""Maximum likelihood on the simplex: Norm-Sub that trusts the exact shares more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.postprocessing.norm_sub import nearest_distribution

Floats = NDArray[np.float64]


def simplex_mle(frequency: Floats, std_error: Floats) -> Floats:
    """Return the shares >= 0 with sum 1 under which the raw ones are most likely.

    The raw shares count as independent normals with these standard errors, so what is surplus is
    taken from each in proportion to its variance (MLE-Apx of Wang et al., NDSS 2020, here with
    a variance for each item). With equal errors it is Norm-Sub. ValueError for an error of 0.
    """
    if not (std_error > 0).all():
        raise ValueError("std_error: every standard error must be above 0; drop certain values")
    return nearest_distribution(frequency, np.square(std_error))
