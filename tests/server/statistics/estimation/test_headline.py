"""What may be said in one sentence, and no more."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.estimation.contrasts import pairwise_p_values
from rumor_server.statistics.estimation.headline import (
    PRECISION,
    Changed,
    Comparison,
    Headline,
    Leader,
    Tie,
    TooFew,
    Unchanged,
    headline,
)
from rumor_server.statistics.estimation.pair_support import one_answer
from rumor_server.statistics.estimation.pure import estimate_pure
from rumor_server.statistics.estimation.ranks import Ranks, simultaneous_ranks

P, Q = Fraction(6, 10), Fraction(1, 10)
LAW = one_answer(P, Q)
NEEDED = 240


def told(counts: list[int]) -> Headline:
    """The headline of krr's counts of five values."""
    many, n = np.array(counts), sum(counts)
    rows = estimate_pure(tuple("abcde"), many, n, P, Q, alpha=0.05)
    ranks = simultaneous_ranks(pairwise_p_values(many, n, LAW, alpha=0.05), 0.05)
    return headline(
        n,
        rows.frequency,
        rows.simultaneous_low,
        rows.simultaneous_high,
        ranks,
        needed=NEEDED,
    )


def test_a_confirmed_leader_leads_with_its_simultaneous_interval() -> None:
    """The ranks that are known follow as far as none is missing."""
    standing = told([900, 4000, 2500, 1000, 900]).standing
    assert isinstance(standing, Leader)
    assert standing.value == 1
    assert standing.ranked == (1, 2)
    assert 0 <= standing.low < (4000 / 9300 - 0.1) / 0.5 < standing.high <= 1


def test_values_that_may_each_be_first_are_tied() -> None:
    """Whoever is not confirmed below another is named, the highest estimate first."""
    assert told([900, 3980, 4000, 1000, 900]).standing == Tie((2, 1))
    assert told([2000, 2001, 2003, 2002, 1990]).standing == Tie((2, 3, 1, 0, 4))


@pytest.mark.parametrize("counts", [[0, 1, 0, 0, 0], [1, 3, 2, 0, 1], [20, 30, 22, 18, 20]])
def test_few_reports_say_nothing(counts: list[int]) -> None:
    """Nothing confirmed and the leading interval wider than ten points either way: too few."""
    assert told(counts).standing == TooFew(sum(counts), NEEDED)


def test_few_reports_may_do_where_an_order_is_confirmed() -> None:
    """A clear leader is said however wide its interval is."""
    standing = told([6, 22, 6, 6, 5]).standing
    assert isinstance(standing, Leader)
    assert standing.high - standing.low > 2 * PRECISION


def test_no_report_is_too_few() -> None:
    """Without a report there are no rows."""
    none = np.zeros(0)
    places = np.zeros(0, dtype=np.int64)
    empty = headline(0, none, none, none, Ranks(0.05, places, places), needed=NEEDED)
    assert empty == Headline(TooFew(0, NEEDED), None)


def changed(low: list[float], high: list[float], significant: list[bool]) -> Comparison:
    """A comparison whose estimates are the middles of its intervals."""
    bounds = np.array(low), np.array(high)
    middle: Floats = (bounds[0] + bounds[1]) / 2
    return Comparison(middle, *bounds, np.array(significant))


def test_a_change_is_said_of_the_values_that_passed() -> None:
    """Risen and fallen apart, the largest first; an interval off 0 without the test is none."""
    one = np.array([1])
    ranks = Ranks(0.05, one, one)
    half = np.array([0.5])

    def change(comparison: Comparison) -> object:
        return headline(9, half, half, half, ranks, needed=1, comparison=comparison).change

    assert change(
        changed([0.01, -0.30, 0.1, -0.2], [0.05, -0.1, 0.3, -0.02], [True, True, True, False])
    ) == Changed(rose=(2, 0), fell=(1,))
    assert change(changed([0.01, -0.30], [0.05, 0.1], [False, False])) == Unchanged(within=0.3)


@pytest.mark.parametrize("gap", [0, 150])
def test_a_headline_is_wrong_in_at_most_5_percent(gap: int) -> None:
    """Over 1,000 collections: no false leader or rank, and the true first is among those tied.

    A rate of .05 meets its bar within 3.3 of its standard errors, .023.
    """
    rng = np.random.default_rng(20261201)
    rates = np.array([2000 + gap, 2000, 2000 - gap, 1800, 1700]) / 9500
    rates /= rates.sum()
    wrong = 0
    for counts in rng.multinomial(9500, rates, 1000).tolist():
        standing = told(counts).standing
        if isinstance(standing, Leader):
            share = (rates[0] - 0.1) / 0.5
            order = standing.ranked == tuple(range(len(standing.ranked)))
            wrong += not (gap and order and standing.low <= share <= standing.high)
        elif isinstance(standing, Tie):
            wrong += not {0, 1 - bool(gap)} <= set(standing.values)
    assert wrong / 1000 <= 0.05 + 3.3 * (0.05 * 0.95 / 1000) ** 0.5
