"""PowerNS: what a power law of shares makes of the raw ones, brought to sum 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor_server.statistics.postprocessing.norm_sub import norm_sub

Floats = NDArray[np.float64]

# Zipf's law with exponent a has the density x^-s of shares with s = 1 + 1/a: a from 1/2 upwards.
_EXPONENTS = np.linspace(1.0, 3.0, 21)
# Beyond so many standard errors a share's posterior is normal; below, points 6% apart (40 a factor
# of ten) are at most half a standard error apart, for which sums of normal densities are exact.
_FAR = 8
_POINTS_A_DECADE = 40
# Entries of one table of (raw share, point): 16 MiB.
_TABLE = 1 << 21


def power_ns(frequency: Floats, std_error: Floats, n: int) -> Floats:
    """Return the posterior mean shares under a fitted power law, brought to sum 1 by Norm-Sub.

    A share's prior density is x^-s between 1/n (one device) and 1, and its raw estimate is normal
    about it. The exponent is the one that makes all raw shares together most likely (empirical
    Bayes); Wang et al. (NDSS 2020), whose idea this is, fit it otherwise. Raises ValueError unless
    every standard error is above 0.
    """
    if not (std_error > 0).all():
        raise ValueError("std_error: every standard error must be above 0; drop certain values")
    least = 1 / max(n, 2)
    x = np.geomspace(least, 1, int(-np.log10(least) * _POINTS_A_DECADE) + 2)
    # Points spaced evenly in log x carry the mass x^(1 - s).
    mass = x ** (1 - _EXPONENTS[:, None])
    scale = mass.sum(axis=1)
    far = frequency > _FAR * std_error
    evidence, means = _common(frequency[far], std_error[far], scale)
    rest, rare = _rare(frequency[~far], std_error[~far], x, mass / scale[:, None])
    fitted = int(np.argmax(evidence + rest))
    posterior = np.empty(len(frequency))
    posterior[far], posterior[~far] = means[fitted], rare[fitted]
    return norm_sub(posterior)


def _common(frequency: Floats, std_error: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Log evidence (exponents,) and means (exponents, values) where the posterior is normal."""
    log_density = -_EXPONENTS[:, None] * np.log(frequency) - np.log(scale)[:, None]
    shrunk = frequency - _EXPONENTS[:, None] * np.square(std_error) / frequency
    return log_density.sum(axis=1), np.minimum(shrunk, 1.0)


def _rare(frequency: Floats, std_error: Floats, x: Floats, priors: Floats) -> tuple[Floats, Floats]:
    """Log evidence (exponents,) and means (exponents, values) by summation over the points."""
    evidence = np.zeros(len(priors))
    means = np.empty((len(priors), len(frequency)))
    step = max(1, _TABLE // len(x))
    for start in range(0, len(frequency), step):
        part = slice(start, start + step)
        square = np.square((frequency[part, None] - x) / std_error[part, None])
        # Relative to the best point, so that a share far below 0 doesn't underflow to 0 / 0.
        likelihood = np.exp((square.min(axis=1, keepdims=True) - square) / 2)
        total = likelihood @ priors.T
        evidence += np.log(total).sum(axis=0)
        means[:, part] = ((likelihood @ (priors * x).T) / total).T
    return evidence, means
