"""From a tally of cells to the share of every candidate, its error, and whether to show it.

What a decode found, as estimates: the one reading of a `DecodedSketch` for all mechanisms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor_server.statistics.decoding.candidates import Positions, find_indistinguishable
from rumor_server.statistics.decoding.overdetermined import decode_overdetermined
from rumor_server.statistics.decoding.selection import (
    Correction,
    half_width,
    select,
    selected_level,
)
from rumor_server.statistics.decoding.sketch import (
    Bools,
    Floats,
    Integers,
    Law,
    Sketch,
    SketchError,
)
from rumor_server.statistics.decoding.underdetermined import decode_underdetermined
from rumor_server.statistics.estimates import Estimates
from rumor_server.statistics.intervals.significance import quantile
from rumor_server.statistics.noise import Noise


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How the answer was reached.

    `unconstrained` says whether `estimate` comes from unconstrained least squares (few candidates
    for the cells) or from message passing. `dispersion` is the scatter of the cells over the
    model's: above 1 where unlisted strings or devices that answered repeatedly add noise.
    """

    survivors: int
    iterations: int
    converged: bool
    unconstrained: bool
    dispersion: float


@dataclass(frozen=True, slots=True)
class DecodedSketch:
    """Shares of all reports, one array entry a candidate, in the order of `positions`.

    `estimate` is signed and unbiased, with `std_error` and the pointwise interval `low`..`high`,
    for the share among those who reported. `p_value` is one-sided, of the hypothesis that nobody
    has the value; in an underdetermined sketch it uses that no share is negative. `fitted` is the
    non-negative shrunken share: closer to the truth over all, not unbiased, zero for candidates
    that the screen dropped. `selected` marks candidates called present, and
    `selected_low`..`selected_high` are their intervals after that choice. `unexplained` is the
    share of reports that no candidate accounts for. `same_as` is the first candidate that owns the
    same cells everywhere, mostly itself: such candidates each show the share of them all, so a sum
    over candidates takes one of them.
    """

    estimate: Floats
    std_error: Floats
    low: Floats
    high: Floats
    p_value: Floats
    fitted: Floats
    selected: Bools
    selected_low: Floats
    selected_high: Floats
    same_as: Integers
    unexplained: float
    unexplained_std_error: float
    reports: int
    diagnostics: Diagnostics


def decode_sketch(
    counts: Integers,
    n: Integers,
    p1: float,
    p0: float,
    positions: Positions,
    candidates: int,
    *,
    hashes: int,
    law: Law = "bits",
    alpha: float = 0.05,
    correction: Correction = "fdr",
) -> DecodedSketch | None:
    """Estimate how common each candidate is from a tally of cohorts x cells.

    `counts` (cohorts, cells) and `n` (cohorts,) are the tally; `p1` and `p0` are the probabilities
    that a report shows a cell which its value does or doesn't own (RAPPOR: q* and p*, at the
    client's own effective f; local hashing: p and (1-p)/(g-1)). `positions(start, stop)` returns
    the cells that candidates start..stop-1 own, integers (stop - start, cohorts, hashes) below
    `cells`; a repeated cell counts once. It is called in blocks, several times over. `law` is
    `bits` where the cells of a report are drawn independently, `categories` where a report names
    one cell. `correction` is `fdr` or `bonferroni`, at level `alpha`, which is also the miss rate
    of the intervals.

    Candidates that own the same cells in every cohort can't be told apart: a value listed twice, or
    values that collide in a small sketch. They count as one, and each is given its answer.

    Returns None where there are no reports. Raises `SketchError` where the arguments don't fit.
    """
    sketch = Sketch(np.asarray(counts), np.asarray(n), p1, p0, hashes, law)
    if not 0 < alpha < 1:
        raise SketchError("alpha", "needs a level between 0 and 1")
    if candidates < 1:
        raise SketchError("candidates", "needs one candidate or more")
    if sketch.reports == 0:
        return None
    distinct = find_indistinguishable(sketch, positions, candidates)
    own, listed = distinct.positions(positions), len(distinct.first)
    answer = decode_overdetermined(sketch, own, listed)
    if answer is None:
        answer = decode_underdetermined(sketch, own, listed)
    std_error = np.sqrt(_fixed(answer.variance, answer.drawn, sketch))
    selected = select(answer.p_value, alpha, correction)
    pointwise = half_width(alpha) * std_error
    chosen = half_width(selected_level(int(selected.sum()), listed, alpha)) * std_error
    other_variance = _fixed(answer.other_variance, answer.drawn.sum(), sketch)
    each = distinct.place
    return DecodedSketch(
        estimate=answer.estimate[each],
        std_error=std_error[each],
        low=(answer.estimate - pointwise)[each],
        high=(answer.estimate + pointwise)[each],
        p_value=answer.p_value[each],
        fitted=answer.fitted[each],
        selected=selected[each],
        selected_low=(answer.estimate - chosen)[each],
        selected_high=(answer.estimate + chosen)[each],
        same_as=distinct.first[each],
        unexplained=answer.other,
        unexplained_std_error=float(np.sqrt(other_variance)),
        reports=sketch.reports,
        diagnostics=Diagnostics(
            survivors=answer.survivors,
            iterations=answer.iterations,
            converged=answer.converged,
            unconstrained=answer.unconstrained,
            dispersion=answer.dispersion,
        ),
    )


def _fixed(variance: Floats | float, share: Floats | float, sketch: Sketch) -> Floats:
    """Variance for a fixed population: less what drawing people at random adds (`covariance`).

    `share` must be what the weights were made at: then the difference can't be negative.
    """
    return np.maximum(np.asarray(variance) - share * (1 - share) / sketch.reports, 0.0)


def decoded_estimates(
    values: tuple[str, ...], n: int, alpha: float, decoded: DecodedSketch | None, *, closed: bool
) -> Estimates:
    """Return the estimates of `values` from a decode of n reports; None is a decode of no report.

    A closed domain leaves nothing unexplained.
    """
    if decoded is None:
        return Estimates.empty(values, alpha)
    wide = quantile(alpha, len(values)) * decoded.std_error
    return Estimates(
        values=values,
        n=n,
        alpha=alpha,
        frequency=decoded.estimate,
        std_error=decoded.std_error,
        low=decoded.low,
        high=decoded.high,
        simultaneous_low=decoded.estimate - wide,
        simultaneous_high=decoded.estimate + wide,
        p_value=decoded.p_value,
        significant=decoded.selected,
        unexplained=None if closed else decoded.unexplained,
        unexplained_std_error=None if closed else decoded.unexplained_std_error,
        noise=Noise(np.square(decoded.std_error), np.zeros_like(decoded.std_error), n),
    )
