"""Vector approximate message passing: every survivor judged with the others accounted for.

Rangan, Schniter, Fletcher, "Vector approximate message passing" (IEEE Trans. Inf. Theory 2019),
algorithm 1, with expectation maximisation of the prior (theirs, section V) and of the noise. It
alternates a ridge solution with the shrinkage of `prior`, each told only what the other learned
elsewhere. At its fixed point every candidate has a signed pseudo-observation: its true share plus
normal noise of a known size, also where there are more candidates than cells. That noise counts
what is not yet known of the other candidates, and what unlisted strings add.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor_server.statistics.decoding.normal_equations import Equations
from rumor_server.statistics.decoding.prior import Posterior, Prior, shrink
from rumor_server.statistics.decoding.sketch import Floats

ROUNDS = 300
DAMPING = 0.7
"""Weight of a new message: undamped messages oscillate on small or collinear sketches."""

CONFIDENCE = 0.95
"""Largest posterior variance in units of the observation's own that a message is made from. Where
candidates could be absent or common the posterior can be wider still, and the message without
bound. Where all candidates are common the cap changes nothing: both sides agree on the mean."""

SETTLED = 1e-3
"""Largest move of a mean, in standard errors, that ends the rounds."""


@dataclass(frozen=True, slots=True)
class Passing:
    """What the rounds ended with.

    `observed` (survivors,) are the signed pseudo-observations, with `precision` times each
    survivor's information x'Wx as their precision. `dispersion` is the variance of the cells in
    units of the model's own. `sum_variance` is the posterior variance of the total share.
    """

    posterior: Posterior
    observed: Floats
    precision: float
    dispersion: float
    sum_variance: float
    rounds: int
    converged: bool


def pass_messages(equations: Equations, absent: int) -> Passing:
    """Solve for the survivors' shares.

    `absent` candidates were screened out; they count as zeros when the prior is learned. The
    dispersion is never taken below 1: the model's own noise is exact.
    """
    gram, score, square = equations.gram, equations.score, equations.square
    root = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(root, root))
    values = np.maximum(values, 0.0)
    goal = score / root
    turned_goal = vectors.T @ goal
    prior = Prior.flat(float(1 / np.median(root)))
    message, trust = np.zeros(len(root)), 1.0 / float(np.mean(np.maximum(goal**2 - 1, 0.1)))
    dispersion, mean = 1.0, np.full(len(root), np.inf)
    for rounds in range(1, ROUNDS + 1):
        spread = 1 / (values / dispersion + trust)
        turned = spread * (turned_goal / dispersion + trust * (vectors.T @ message))
        ridge = vectors @ turned
        kept = min(trust * float(spread.mean()), 1 - 1e-9)
        left = square - 2 * float(goal @ ridge) + float((values * (turned**2 + spread)).sum())
        precision = trust * (1 - kept) / kept
        observed = (ridge - kept * message) / (1 - kept)
        posterior = shrink(prior, observed / root, 1 / (precision * root**2))
        prior = prior.learn(posterior.membership, absent)
        moved = float(np.abs(posterior.mean * root - mean).max()) * precision**0.5
        mean = posterior.mean * root
        known = precision * float((posterior.variance * root**2).mean())
        known = min(max(known, 1e-8), CONFIDENCE)
        trust = (precision * (1 - known) / known) ** DAMPING * trust ** (1 - DAMPING)
        message = DAMPING * (mean - known * observed) / (1 - known) + (1 - DAMPING) * message
        if rounds > 2:
            dispersion = max(1.0, left / equations.freedom) ** DAMPING * dispersion ** (1 - DAMPING)
        if moved < SETTLED:
            break
    ones = vectors.T @ (1 / root)
    return Passing(
        posterior,
        observed / root,
        precision,
        dispersion,
        float((ones**2 / (values / dispersion + trust)).sum()),
        rounds,
        moved < SETTLED,
    )
