"""What may be said in one sentence: a typed decision, never stronger than the tests behind it.

No words: faces say it, in their language. With probability 1 - alpha nothing in a standing is
false, whichever value came out first, since ranks and bounds hold for all values at once; the same
holds for the change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor_server.statistics.estimates import Bools, Floats
from rumor_server.statistics.estimation.ranks import Ranks

# An interval of ten points to either side is the widest that is told as an answer.
PRECISION = 0.10


@dataclass(frozen=True)
class Leader:
    """One value is confirmed above all others; its share lies in `low` to `high`.

    `ranked` are the values of ranks 1, 2, ... as far as each is known, this one first.
    """

    value: int
    low: float
    high: float
    ranked: tuple[int, ...]


@dataclass(frozen=True)
class Tie:
    """Any of `values`, the highest estimate first, may be the commonest; no other can."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class TooFew:
    """Too few reports to say; from about `needed` an interval is within `PRECISION`."""

    n: int
    needed: int


@dataclass(frozen=True)
class Changed:
    """These values' shares rose or fell, the largest change first."""

    rose: tuple[int, ...]
    fell: tuple[int, ...]


@dataclass(frozen=True)
class Unchanged:
    """No value changed beyond chance; a change of up to `within` could have gone unseen."""

    within: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """The change of each value's share: estimate, bounds, and whether it passes a test for all."""

    difference: Floats
    low: Floats
    high: Floats
    significant: Bools


@dataclass(frozen=True)
class Headline:
    """How the values stand, and what changed; `change` is None where nothing was compared."""

    standing: Leader | Tie | TooFew
    change: Changed | Unchanged | None


def headline(
    n: int,
    frequency: Floats,
    low: Floats,
    high: Floats,
    ranks: Ranks,
    *,
    needed: int,
    comparison: Comparison | None = None,
) -> Headline:
    """Decide what may be said of `n` reports.

    `low` and `high` (k,) hold all shares at once; `ranks` are simultaneous; `needed` is from how
    many reports on the first interval is within `PRECISION`. All (k,) arrays are empty where n = 0.
    """
    standing = _standing(n, frequency, low, high, ranks, needed)
    return Headline(standing, None if comparison is None else _change(comparison))


def _standing(
    n: int, frequency: Floats, low: Floats, high: Floats, ranks: Ranks, needed: int
) -> Leader | Tie | TooFew:
    if not n:
        return TooFew(n, needed)
    leader = ranks.leader
    if leader is not None and len(frequency) > 1:
        within = np.clip([low[leader], high[leader]], 0, 1)
        return Leader(leader, float(within[0]), float(within[1]), _ranked(ranks))
    first = int(frequency.argmax())
    if ranks.best.max() == 1 and high[first] - low[first] > 2 * PRECISION:
        return TooFew(n, needed)
    return Tie(_by_size(ranks.best == 1, frequency))


def _ranked(ranks: Ranks) -> tuple[int, ...]:
    places = {int(ranks.best[value]): int(value) for value in np.flatnonzero(ranks.known)}
    known: list[int] = []
    while len(known) + 1 in places:
        known.append(places[len(known) + 1])
    return tuple(known)


def _change(comparison: Comparison) -> Changed | Unchanged:
    moved, by = comparison.significant, comparison.difference
    if moved.any():
        return Changed(_by_size(moved & (by > 0), by), _by_size(moved & (by < 0), -by))
    return Unchanged(float(np.maximum(-comparison.low, comparison.high).max(initial=0)))


def _by_size(marked: Bools, size: Floats) -> tuple[int, ...]:
    order = np.argsort(-size, kind="stable")
    return tuple(int(value) for value in order[marked[order]])
