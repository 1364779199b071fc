"""Many candidates for the cells: screen, message passing, least squares where it still exists."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from rumor_server.statistics.decoding.candidates import Positions, blocks
from rumor_server.statistics.decoding.covariance import Weights, listed_shares, weigh
from rumor_server.statistics.decoding.least_squares import Answer, solve
from rumor_server.statistics.decoding.message_passing import Passing, pass_messages
from rumor_server.statistics.decoding.normal_equations import Equations, Scorer, predicted
from rumor_server.statistics.decoding.screen import Survivors, screen
from rumor_server.statistics.decoding.sketch import Floats, Sketch


def decode_underdetermined(sketch: Sketch, positions: Positions, candidates: int) -> Answer:
    """Decode any number of candidates.

    Survivors of the screen are fitted twice, the second time with weights at the rates that the
    first fit found.
    """
    survivors = screen(sketch, positions, candidates)
    absent = candidates - len(survivors.index)
    first = pass_messages(Equations.of(sketch, weigh(sketch), survivors.block), absent)
    weights = weigh(sketch, survivors.block, first.posterior.mean)
    equations = Equations.of(sketch, weights, survivors.block)
    passing = pass_messages(equations, absent)
    signed, information = _observe(sketch, weights, survivors, passing, positions, candidates)
    fitted, drawn = np.zeros(candidates), np.zeros(candidates)
    fitted[survivors.index] = passing.posterior.mean
    drawn[survivors.index] = listed_shares(first.posterior.mean)
    variance = 1 / (passing.precision * information)
    least = solve(equations) if survivors.complete else None
    return Answer(
        estimate=signed if least is None else least.shares,
        variance=variance if least is None else least.variance,
        p_value=norm.sf(signed / np.sqrt(variance)),
        fitted=fitted,
        drawn=drawn,
        other=1 - float(fitted.sum() if least is None else least.shares.sum()),
        other_variance=passing.sum_variance if least is None else least.sum_variance,
        survivors=len(survivors.index),
        iterations=passing.rounds,
        converged=passing.converged,
        unconstrained=least is not None,
        dispersion=passing.dispersion if least is None else least.dispersion,
    )


def _observe(
    sketch: Sketch,
    weights: Weights,
    survivors: Survivors,
    passing: Passing,
    positions: Positions,
    candidates: int,
) -> tuple[Floats, Floats]:
    """Signed pseudo-observations of all candidates and their information x'Wx.

    One that was screened out is observed through what the survivors leave over, at the fixed
    point's rate: observed - mean = x'W(left) / (dispersion precision x'Wx), exact for survivors.
    """
    left = sketch.centred() - predicted(sketch, survivors.block, passing.posterior.mean)
    scorer = Scorer.of(sketch, weights, left)
    signed, information = np.empty(candidates), np.empty(candidates)
    for start, block in blocks(positions, candidates, sketch):
        stop = start + len(block)
        information[start:stop] = scorer.information(block)
        signed[start:stop] = scorer.score(block) / information[start:stop]
    signed /= passing.dispersion * passing.precision
    signed[survivors.index] = passing.observed
    return signed, information
