"""Unconstrained generalised least squares: unbiased, with the exact variance, where it exists.

What either way of decoding hands over to be judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigvalsh
from scipy.stats import chi2

from rumor_server.statistics.decoding.normal_equations import Equations
from rumor_server.statistics.decoding.sketch import Floats


@dataclass(frozen=True, slots=True)
class Answer:
    """Shares of all candidates as one way of decoding found them; arrays are (candidates,).

    `estimate` is signed, with `variance` were the population drawn at random. `p_value` is of the
    hypothesis that nobody has the value. `fitted` is non-negative. `drawn` are the shares that the
    weights were made at. `other` is the mass no candidate explains, with its variance.
    """

    estimate: Floats
    variance: Floats
    p_value: Floats
    fitted: Floats
    drawn: Floats
    other: float
    other_variance: float
    survivors: int
    iterations: int
    converged: bool
    unconstrained: bool
    dispersion: float


ROOM = 0.5
"""Candidates for each independent cell, at most. Least squares inflates the variance by
1/(1 - candidates/cells) (formulas 1.5): beyond a factor of 2 message passing serves better."""

CONDITION = 1e-11
"""Smallest eigenvalue of the scaled equations that counts as telling candidates apart. Cells that
add up to those of others give 1e-15, a sketch without noise 1e-9 (the noise floor's share)."""

DOUBT = 0.01
"""False alarm rate of the test that the cells scatter more than the model allows."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Shares and their variances (candidates,), the variance of their sum, and the dispersion.

    Variances are for a population drawn at random.
    `dispersion` is 1, or the residual chi-square over its degrees of freedom where that exceeds
    what chance allows: unlisted strings, or devices that answered more than once.
    """

    shares: Floats
    variance: Floats
    sum_variance: float
    dispersion: float


def solve(equations: Equations) -> Fit | None:
    """Least squares, or None where the equations can't tell the candidates apart."""
    gram, score, freedom = equations.gram, equations.score, equations.freedom
    candidates = len(score)
    if not 0 < candidates <= ROOM * freedom:
        return None
    root = np.sqrt(np.diag(gram))
    if root.min() <= 0:
        return None
    scaled = gram / np.outer(root, root)
    if eigvalsh(scaled, subset_by_index=[0, 0])[0] < CONDITION:
        return None
    factor = cho_factor(scaled)
    shares = cho_solve(factor, score / root) / root
    covariance = cho_solve(factor, np.eye(candidates)) / np.outer(root, root)
    beyond = dispersion(equations.square - float(shares @ score), freedom - candidates)
    variance = np.asarray(np.diag(covariance) * beyond)
    return Fit(shares, variance, float(covariance.sum()) * beyond, beyond)


def dispersion(left: float, freedom: int) -> float:
    """Residual chi-square over its degrees of freedom, or 1 where that may be chance."""
    if left <= freedom or chi2.sf(left, freedom) > DOUBT:
        return 1.0
    return left / freedom
