"""What shares look like before the data speak: none at all, or positive on some scale.

The prior is a mixture of a point at zero and half-normal slabs on a grid of scales; its weights are
learned from all candidates at once (empirical Bayes; the grid and the learning follow adaptive
shrinkage, Stephens 2017, Biostatistics 18(2)). It is where positivity enters the decoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from rumor_server.statistics.decoding.sketch import Floats

SCALE_RATIO = 2**0.5
"""Neighbouring slabs differ by this factor in scale (Stephens 2017 uses the square root of 2)."""

HALF_LOG_2PI = 0.9189385332046727


@dataclass(frozen=True, slots=True)
class Prior:
    """Scales (slabs,) of the half-normals, in shares; weights (1 + slabs,), the zero's first."""

    scales: Floats
    weights: Floats

    @classmethod
    def flat(cls, resolution: float) -> Prior:
        """Half the candidates absent, the rest on any scale from half of `resolution` to 1."""
        steps = max(2, int(np.ceil(np.log(2 / min(resolution, 0.5)) / np.log(SCALE_RATIO))))
        scales = resolution / 2 * SCALE_RATIO ** np.arange(steps)
        weights = np.full(steps + 1, 0.5 / steps)
        weights[0] = 0.5
        return cls(np.asarray(scales, dtype=np.float64), weights)

    def learn(self, membership: Floats, absent: int) -> Prior:
        """Weights from the members' mean membership; `absent` more candidates count as zero."""
        totals = membership.sum(axis=0)
        totals[0] += absent
        return Prior(self.scales, totals / totals.sum())


LEARNING_ROUNDS = 200
LEARNED = 1e-4
"""Largest change of a weight that ends the learning; shares move by far less than their errors."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Mean and variance of each share (candidates,), and membership (candidates, 1 + slabs)."""

    mean: Floats
    variance: Floats
    membership: Floats


def shrink(prior: Prior, observed: Floats, variance: Floats) -> Posterior:
    """Posterior of shares seen once each, with normal noise: `observed`, `variance` (candidates,).

    A half-normal of scale s seen as x with variance v is a normal of mean x s^2/(s^2+v), variance
    s^2 v/(s^2+v), cut off below zero; its evidence is 2 N(x; 0, s^2+v) Phi(mean/sd).
    """
    x, v = observed[:, None], variance[:, None]
    square = prior.scales**2
    total = square + v
    centre, spread = x * square / total, np.sqrt(square * v / total)
    ratio = centre / spread
    log_tail = log_ndtr(ratio)
    evidence = np.empty((len(observed), len(prior.weights)))
    evidence[:, :1] = -0.5 * (x**2 / v + np.log(v))
    evidence[:, 1:] = -0.5 * (x**2 / total + np.log(total)) + np.log(2) + log_tail
    evidence += np.log(np.maximum(prior.weights, np.finfo(np.float64).tiny))
    evidence -= evidence.max(axis=1, keepdims=True)
    membership = np.exp(evidence)
    membership /= membership.sum(axis=1, keepdims=True)
    hazard = np.exp(-0.5 * ratio**2 - HALF_LOG_2PI - log_tail)
    first = np.maximum(centre + spread * hazard, 0.0)
    second = spread**2 + centre * first
    slabs = membership[:, 1:]
    mean = (slabs * first).sum(axis=1)
    return Posterior(mean, np.maximum((slabs * second).sum(axis=1) - mean**2, 0.0), membership)


def learn(observed: Floats, variance: Floats) -> Posterior:
    """Posterior under the prior that these observations (candidates,) themselves suggest."""
    prior = Prior.flat(float(np.sqrt(np.median(variance))))
    for _ in range(LEARNING_ROUNDS):
        posterior = shrink(prior, observed, variance)
        better = prior.learn(posterior.membership, 0)
        change = float(np.abs(better.weights - prior.weights).max())
        prior = better
        if change < LEARNED:
            break
    return shrink(prior, observed, variance)
