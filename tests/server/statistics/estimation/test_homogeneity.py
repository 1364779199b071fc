"""Segments of equal shares are rarely called different; planted differences are found.

False alarms: at most .055 over 20,000 draws (1,000 for Monte Carlo tests, where .05 meets its bar
within 3.3 of its standard errors, .023).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from numpy.typing import NDArray

from rumor_server.statistics.estimates import Floats
from rumor_server.statistics.estimation.homogeneity import (
    pooled_covariance,
    same_answers,
    same_bits,
    same_shares,
)
from rumor_server.statistics.estimation.pair_support import (
    PairSupport,
    independent_bits,
    one_answer,
    uniform_subset,
)

ALPHA, DRAWS, FEW = 0.05, 20_000, 1_000
BAR, FEW_BAR = 0.055, ALPHA + 3.3 * (ALPHA * (1 - ALPHA) / FEW) ** 0.5
KRR = one_answer(Fraction(6, 10), Fraction(1, 10))
OUE = independent_bits(Fraction(1, 2), Fraction(269, 1000))
SUBSET = uniform_subset(Fraction(6, 10), Fraction(35, 100), 2, 5)
SHARES = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
REPORTS = np.array([400, 900, 2000])


def segments(
    law: PairSupport, reports: NDArray[np.int64], number: int, seed: int
) -> NDArray[np.int64]:
    """Supports (number, segments, 5) of samples of one population."""
    rng = np.random.default_rng(seed)
    p, q = float(law.p), float(law.q)
    have = np.stack([rng.multinomial(n, SHARES, number) for n in reports.tolist()], axis=1)
    if law is OUE:
        return rng.binomial(have, p) + rng.binomial(reports[:, None] - have, q)
    sets = np.eye(5, dtype=np.int64)
    if law is SUBSET:
        pairs = [(a, b) for a in range(5) for b in range(a)]
        sets = np.array([[v in pair for v in range(5)] for pair in pairs], dtype=np.int64)
    inside = sets / sets.sum(axis=0)
    outside = (1 - sets) / (1 - sets).sum(axis=0)
    chances = p * inside + (1 - p) * outside
    parts = [rng.multinomial(have[..., v], chances[:, v] / chances[:, v].sum()) for v in range(5)]
    return np.asarray(np.sum(parts, axis=0) @ sets)


def shares_of(counts: NDArray[np.int64], reports: NDArray[np.int64], law: PairSupport) -> Floats:
    """Raw signed shares (segments, k)."""
    return (counts / reports[:, None] - float(law.q)) / float(law.p - law.q)


@pytest.mark.slow
@pytest.mark.parametrize("law", [KRR, OUE, SUBSET], ids=["krr", "oue", "subset"])
def test_wald_with_the_full_covariance_alarms_in_5_percent(law: PairSupport) -> None:
    """Of 20,000 draws of three segments at most 5.5%, singular covariances among them."""
    alarms = 0
    for counts in segments(law, REPORTS, DRAWS, 20261201):
        shares = shares_of(counts, REPORTS, law)
        told = same_shares(shares, pooled_covariance(shares, REPORTS, [law] * 3), alpha=ALPHA)
        alarms += told.significant
    assert 0.04 < alarms / DRAWS <= BAR


def test_wald_that_takes_shares_for_independent_is_caught() -> None:
    """Planted: the variances without the covariances are off by far more than the bar allows."""
    alarms = 0
    for counts in segments(KRR, REPORTS, FEW, 3):
        shares = shares_of(counts, REPORTS, KRR)
        full = pooled_covariance(shares, REPORTS, [KRR] * 3)
        planted = np.stack([np.diag(np.diag(part)) for part in full])
        alarms += same_shares(shares, planted, alpha=ALPHA).significant
    assert not 0.04 < alarms / FEW <= BAR


def test_segments_of_other_p_and_q_can_be_compared() -> None:
    """Two revisions with their own epsilon: Wald holds for both laws, and finds what differs."""
    other = one_answer(Fraction(8, 10), Fraction(5, 100))
    laws, reports = [KRR, other], np.array([3000, 700])
    alarms = 0
    rows = zip(
        segments(KRR, reports[:1], FEW, 4), segments(other, reports[1:], FEW, 5), strict=True
    )
    for old, new in rows:
        shares = np.concatenate(
            [shares_of(old, reports[:1], KRR), shares_of(new, reports[1:], other)]
        )
        covariances = pooled_covariance(shares, reports, laws)
        alarms += same_shares(shares, covariances, alpha=ALPHA).significant
        assert not same_shares(shares, covariances, alpha=1e-9).significant
    assert alarms / FEW <= FEW_BAR
    moved = shares + np.array([[0, 0, 0, 0, 0], [0.2, -0.2, 0, 0, 0]])
    assert same_shares(moved, pooled_covariance(moved, reports, laws), alpha=0.001).significant


@pytest.mark.slow
@pytest.mark.parametrize("reports", [REPORTS, np.array([8, 15]), np.array([9000, 9000])])
def test_tables_with_fixed_margins_alarm_in_5_percent(reports: NDArray[np.int64]) -> None:
    """Krr, from a handful of reports to many: 1,000 draws."""
    alarms = [
        same_answers(counts, alpha=ALPHA).significant for counts in segments(KRR, reports, FEW, 6)
    ]
    assert np.mean(alarms) <= FEW_BAR


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "reports"),
    [
        (OUE, REPORTS),
        (OUE, np.array([20, 60])),
        (OUE, np.array([9000, 9000, 9000])),
    ],
)
def test_bits_by_holm_alarm_in_5_percent(law: PairSupport, reports: NDArray[np.int64]) -> None:
    """Unary: 1,000 draws."""
    alarms = [
        same_bits(counts, reports, alpha=ALPHA).significant
        for counts in segments(law, reports, FEW, 8)
    ]
    assert np.mean(alarms) <= FEW_BAR


def test_bits_that_are_judged_one_by_one_are_caught() -> None:
    """Planted: the least of five p-values, times one instead of five, alarms far too often."""
    reports = np.array([9000, 9000])
    alarms = [
        same_bits(counts, reports, alpha=ALPHA).p_value / 5 <= ALPHA
        for counts in segments(OUE, reports, FEW, 9)
    ]
    assert np.mean(alarms) > 0.15


def exact_p_value(table: NDArray[np.int64]) -> Fraction:
    """P[Pearson's statistic as great or greater] over all tables of two rows, in Fractions."""
    rows, columns = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
    n = sum(rows)

    def statistic(first: tuple[int, ...]) -> Fraction:
        both = first, tuple(c - x for c, x in zip(columns, first, strict=True))
        return sum(
            (
                Fraction(x * x * n, row * column)
                for row, cells in zip(rows, both, strict=True)
                for x, column in zip(cells, columns, strict=True)
            ),
            Fraction(0),
        )

    seen = statistic(tuple(table[0].tolist()))
    reached = Fraction(0)
    for first in product(*(range(column + 1) for column in columns)):
        if sum(first) == rows[0] and statistic(first) >= seen:
            ways = prod(comb(c, x) for c, x in zip(columns, first, strict=True))
            reached += Fraction(ways, comb(n, rows[0]))
    return reached


@pytest.mark.parametrize(
    "table", [[[6, 2, 1], [2, 5, 4]], [[5, 0, 1], [1, 4, 2]], [[3, 3, 3], [3, 3, 3]]]
)
def test_drawn_tables_agree_with_all_tables(table: list[list[int]]) -> None:
    """Against the enumeration, within five standard errors of 1,999 drawn tables."""
    counts = np.array(table)
    exact = float(exact_p_value(counts))
    told = same_answers(counts, alpha=0.9)
    assert told.method == "monte carlo"
    assert abs(told.p_value - exact) < 5 * (exact * (1 - exact) / 1999) ** 0.5 + 1e-3


def test_drawn_bits_agree_with_all_tables() -> None:
    """One bit is a table of two columns."""
    table = np.array([[9, 3], [4, 11]])
    exact = float(exact_p_value(table))
    told = same_bits(table[:, :1], table.sum(axis=1), alpha=ALPHA)
    assert abs(told.p_value - exact) < 5 * (exact / 1999) ** 0.5 + 1e-3


def test_many_reports_are_judged_by_chi_square_as_by_tables() -> None:
    """Where both can be had they agree; three segments of a thousand and a shift of two points."""
    reports = np.array([4000, 4000, 4000])
    counts = np.rint(reports[:, None] * np.array([0.4, 0.3, 0.3])).astype(np.int64)
    counts[0] += [70, -70, 0]
    wald_shares = shares_of(counts, reports, one_answer(Fraction(1), Fraction(0)))
    sure = [one_answer(Fraction(1), Fraction(0))] * 3
    told = same_answers(counts, alpha=ALPHA)
    wald = same_shares(wald_shares, pooled_covariance(wald_shares, reports, sure), alpha=ALPHA)
    assert told.method == "chi-square"
    assert told.p_value == pytest.approx(wald.p_value, rel=1e-6)


def test_a_shift_is_found() -> None:
    """One segment in which the second value is ten points commoner."""
    counts = np.array([[300, 200, 150, 150], [220, 280, 150, 150]])
    assert same_answers(counts, alpha=0.01).significant
    assert same_bits(counts, counts.sum(axis=1), alpha=0.01).significant


def test_the_same_question_has_the_same_answer() -> None:
    """The counts fix the tables that are drawn."""
    counts = np.array([[30, 20, 15], [22, 28, 15]])
    first, again = (same_answers(counts, alpha=ALPHA).p_value for _ in range(2))
    assert first == again


def test_what_cannot_be_compared_is_refused() -> None:
    """One segment, an empty one, and certainties that segments do not share."""
    with pytest.raises(ValueError, match="fewer than two"):
        same_answers(np.array([[3, 4]]), alpha=ALPHA)
    with pytest.raises(ValueError, match="has no report"):
        same_bits(np.array([[3, 4], [0, 0]]), np.array([9, 0]), alpha=ALPHA)
    with pytest.raises(ValueError, match="fewer than two"):
        same_shares(np.ones((1, 2)), np.ones((1, 2, 2)), alpha=ALPHA)
    with pytest.raises(ValueError, match="all shares are certain"):
        same_shares(np.ones((2, 2)), np.zeros((2, 2, 2)), alpha=ALPHA)
    with pytest.raises(ValueError, match="certain"):
        same_shares(np.ones((2, 2)), np.stack([np.eye(2), np.diag([1.0, 0.0])]), alpha=ALPHA)
    assert same_answers(np.array([[3, 0], [4, 0]]), alpha=ALPHA).p_value == 1
    assert same_bits(np.array([[0], [0]]), np.array([3, 4]), alpha=ALPHA).p_value == 1
