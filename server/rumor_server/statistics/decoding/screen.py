"""A matched filter over all candidates: who is worth fitting.

Each round scores every candidate against the cells the survivors leave unexplained, admits the most
promising, and refits. Rounds after the first find what the commonest strings were hiding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from rumor_server.statistics.decoding.candidates import Block, Positions, blocks
from rumor_server.statistics.decoding.covariance import weigh
from rumor_server.statistics.decoding.message_passing import pass_messages
from rumor_server.statistics.decoding.normal_equations import Equations, Scorer, predicted
from rumor_server.statistics.decoding.sketch import Floats, Integers, Sketch

CAPACITY = 2048
"""Survivors at most: their dense equations take 32 MB and some seconds to diagonalise."""

ROUNDS = 6
"""Rounds of admission at most: each round halves, roughly, what hides behind commoner strings."""

FALSE_ADMISSIONS = 1 / 128
"""Absent candidates admitted a round, for each independent cell. At 1/16 they crowd out true ones
in a list of 10^6 (74 found instead of 99); at 1/64 and 1/128 the answers are the same."""


@dataclass(frozen=True, slots=True)
class Survivors:
    """Candidates to fit: their indices (ascending), their cells, and whether they are all."""

    index: Integers
    block: Block
    complete: bool


def screen(sketch: Sketch, positions: Positions, candidates: int) -> Survivors:
    """Choose at most `CAPACITY` candidates to fit; all of them where they are that few."""
    if candidates <= CAPACITY:
        parts = [block for _, block in blocks(positions, candidates, sketch)]
        return Survivors(np.arange(candidates, dtype=np.int64), Block.join(parts), True)
    weights, left = weigh(sketch), sketch.centred()
    information = np.empty(candidates)
    scorer = Scorer.of(sketch, weights, left)
    for start, block in blocks(positions, candidates, sketch):
        information[start : start + len(block)] = scorer.information(block)
    admissions = min(CAPACITY / 16, max(8.0, FALSE_ADMISSIONS * sketch.freedom))
    threshold = float(norm.isf(admissions / candidates))
    scale = max(1.0, float((left * weights.times(left)).sum()) / sketch.freedom)
    empty = Block.of(np.zeros((0, len(sketch.n), sketch.hashes), dtype=np.int64), sketch)
    chosen = Survivors(np.zeros(0, dtype=np.int64), empty, False)
    for _ in range(ROUNDS):
        scorer = Scorer.of(sketch, weights, left)
        bar = threshold * np.sqrt(scale * information)
        wider = _admit(sketch, scorer, positions, chosen, bar)
        if len(wider.index) == len(chosen.index):
            break
        chosen = wider
        equations = Equations.of(sketch, weights, chosen.block)
        passing = pass_messages(equations, candidates - len(chosen.index))
        left = sketch.centred() - predicted(sketch, chosen.block, passing.posterior.mean)
        scale = passing.dispersion**2 * passing.precision
    return chosen


def _admit(
    sketch: Sketch, scorer: Scorer, positions: Positions, chosen: Survivors, bar: Floats
) -> Survivors:
    """Add the candidates that score above the bar (candidates,), best first, while there is room.

    The first round admits the best of each block, should nobody pass.
    """
    found, parts, strength = [], [], []
    for start, block in blocks(positions, len(bar), sketch):
        score = scorer.score(block) / bar[start : start + len(block)]
        passing = score > 1
        if len(chosen.index) == 0:
            passing[np.argmax(score)] = True
        inside = chosen.index[(chosen.index >= start) & (chosen.index < start + len(block))]
        passing[inside - start] = False
        rows = np.flatnonzero(passing)
        found.append(rows + start)
        parts.append(block.take(rows))
        strength.append(score[rows])
    index, block = np.concatenate(found), Block.join(parts)
    room = CAPACITY - len(chosen.index)
    best = np.argsort(-np.concatenate(strength), kind="stable")[:room]
    index = np.concatenate([chosen.index, index[best]])
    block = Block.join([chosen.block, block.take(best)])
    order = np.argsort(index)
    return Survivors(index[order], block.take(order), False)
