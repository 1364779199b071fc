"""Few candidates for the cells: least squares by conjugate gradients, on a sparse design.

Local hashing over thousands of cohorts has a dozen cells a candidate. Its equations are then so
near diagonal that a handful of steps solves them, and the diagonal of their inverse is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm

from rumor_server.statistics.decoding.candidates import Positions, ownership
from rumor_server.statistics.decoding.covariance import Weights, listed_shares, weigh_cells
from rumor_server.statistics.decoding.least_squares import Answer, dispersion
from rumor_server.statistics.decoding.prior import learn
from rumor_server.statistics.decoding.sketch import Floats, Sketch

ROOM = 1 / 8
"""Candidates for each independent cell, at most. Here what the others leave unknown adds 14% to a
variance, so that message passing has little to gain."""

ENTRIES = 1 << 26
"""Owned cells at most, of all candidates: 800 MB of a sparse matrix."""

STEPS = 200
EXACT, ROUGH = 1e-7, 1e-3
"""Residuals, relative to the start: of the answer, and of what only weights or an error need."""


def decode_overdetermined(sketch: Sketch, positions: Positions, candidates: int) -> Answer | None:
    """Decode by least squares, or None where candidates are too many.

    Also None where cells of a report are weighed jointly: those equations aren't sparse.
    """
    entries = candidates * len(sketch.n) * sketch.hashes
    if sketch.jointly or candidates > ROOM * sketch.freedom or entries > ENTRIES:
        return None
    owns = ownership(positions, candidates, sketch)
    cells = sketch.centred()
    rough = _Design(sketch, owns, weigh_cells(sketch, None))
    start, _, _ = _descend(rough.gram, rough.score(cells), rough.information, ROUGH)
    drawn = listed_shares(learn(start, rough.variance).mean)
    owned = (owns.T @ drawn).reshape(sketch.counts.shape)
    set_rate = owned + (1 - drawn.sum()) * sketch.chance
    exact = _Design(sketch, owns, weigh_cells(sketch, set_rate))
    score = exact.score(cells)
    shares, steps, converged = _descend(exact.gram, score, exact.information, EXACT)
    ones, _, _ = _descend(exact.gram, np.ones(candidates), exact.information, ROUGH)
    square = float((cells * exact.weights.times(cells)).sum())
    beyond = dispersion(square - float(shares @ score), sketch.freedom - candidates)
    variance = exact.variance * beyond
    return Answer(
        estimate=shares,
        variance=variance,
        p_value=norm.sf(shares / np.sqrt(variance)),
        fitted=learn(shares, variance).mean,
        drawn=drawn,
        other=1 - float(shares.sum()),
        other_variance=float(ones.sum()) * beyond,
        survivors=candidates,
        iterations=steps,
        converged=converged,
        unconstrained=True,
        dispersion=beyond,
    )


@dataclass(frozen=True, slots=True)
class _Design:
    """The columns x_v = n_j (owns(v, j, cell) - chance) under weights, never written out."""

    sketch: Sketch
    owns: csr_array
    weights: Weights

    def score(self, cells: Floats) -> Floats:
        """X'W(cells)."""
        table = self.weights.times(cells) * self.sketch.n[:, None]
        return np.asarray(self.owns @ table.ravel() - self.sketch.chance * table.sum())

    def gram(self, shares: Floats) -> Floats:
        """X'WX(shares)."""
        owned = (self.owns.T @ shares).reshape(self.sketch.counts.shape)
        return self.score((owned - self.sketch.chance * shares.sum()) * self.sketch.n[:, None])

    @property
    def information(self) -> Floats:
        """Diagonal of X'WX."""
        chance, table = self.sketch.chance, self.weights.table * self.sketch.n[:, None] ** 2.0
        own = self.owns @ table.ravel()
        return np.asarray((1 - 2 * chance) * own + chance**2 * table.sum(), dtype=np.float64)

    @property
    def variance(self) -> Floats:
        """Diagonal of the inverse of X'WX, (candidates,).

        A share of (candidates - 1)/cells of a random column lies in the span of the others, give or
        take a thousandth; formulas 1.5 has the same factor.
        """
        spanned = (self.owns.shape[0] - 1) / self.sketch.freedom
        return np.asarray(1 / (self.information * (1 - spanned)), dtype=np.float64)


def _descend(
    gram: Callable[[Floats], Floats], goal: Floats, information: Floats, until: float
) -> tuple[Floats, int, bool]:
    """Solve gram(x) = goal by conjugate gradients preconditioned with the diagonal.

    Returns the solution, the steps taken, and whether the residual fell to `until` of its start.
    """
    x = np.zeros_like(goal)
    left = goal
    eased = left / information
    direction = eased
    energy = first = float(left @ eased)
    for step in range(1, STEPS + 1):
        moved = gram(direction)
        pace = energy / float(direction @ moved)
        x = x + pace * direction
        left = left - pace * moved
        eased = left / information
        before, energy = energy, float(left @ eased)
        if energy <= until**2 * first:
            return x, step, True
        direction = eased + energy / before * direction
    return x, STEPS, False
