"""Intervals that hold the honest truth although a share of the reports are fakes.

A report adds (1 - q)/(p - q) or -q/(p - q) to n times a frequency where it supports the value or
doesn't: an honest one by chance, a fake as it likes (Cao, Jia, Gong 2021; the worst is maximal gain
and its opposite). With f the share among honest devices, b the share of fakes and g the mean that
fakes add,

    E[frequency] = (1 - b) f + b g,      least <= g <= most,

so f lies between (frequency - b most)/(1 - b) and (frequency - b least)/(1 - b) but for the noise,
and the interval of the frequency bounds that. It is wide enough: at that expected frequency it
counts with the variance of the honest reports' counts and, for each fake, (1 - p)(1 - q) more where
the fake supports the value and p q where it doesn't, while fakes need have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rumor_shared.mechanism import Mechanism


@dataclass(frozen=True)
class Influence:
    """The least and the most that one report adds to n times a frequency."""

    least: float
    most: float


def influence(mechanisms: Sequence[Mechanism]) -> Influence | None:
    """Return the widest influence of a report under any of `mechanisms`.

    None where one of them is decoded by a regression: what a report adds there depends on all
    candidates and cohorts, and a forger may choose the cohort in which it adds most.
    """
    added = []
    for mechanism in mechanisms:
        pair = mechanism.support()
        if pair is None or not mechanism.pure:
            return None
        p, q = pair
        gap = float(p - q)
        added += [float(1 - q) / gap, -float(q) / gap]
    return Influence(min(added), max(added))


def robust_interval(
    low: float, high: float, share: float, influence: Influence
) -> tuple[float, float]:
    """Return the bounds of the honest frequency where at most `share` of the reports are fakes.

    `low` and `high` are the interval of the frequency, and the result holds the frequency among
    honest devices with at least its probability:

        ((low - share most)/(1 - share), (high - share least)/(1 - share))

    It is not clipped to [0, 1], as `low` and `high` are not; without an honest report it is [0, 1].
    Where revisions are combined, `share` bounds the fakes among the reports of each. Raises
    ValueError for a share outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError("share: is not between 0 and 1; give the share of fakes to allow for")
    if share == 1:
        return 0.0, 1.0
    honest = 1 - share
    return (low - share * influence.most) / honest, (high - share * influence.least) / honest
