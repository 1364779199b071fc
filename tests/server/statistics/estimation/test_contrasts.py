"""Differences of two shares of one tally: exact where small, and covering where large."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from rumor_server.statistics.estimation.contrasts import (
    Contrast,
    contrast,
    normal_p_values,
    pairwise_p_values,
)
from rumor_server.statistics.estimation.pair_support import (
    PairSupport,
    independent_bits,
    one_answer,
)

Law = dict[tuple[int, int], Fraction]
RUNS = 20_000
# Five standard errors of a rate of .05 over the runs.
SLACK = 5 * (0.05 * 0.95 / RUNS) ** 0.5


def both_of(devices: list[Law]) -> Law:
    """The exact law of (C_A, C_B) over independent devices."""
    law: Law = {(0, 0): Fraction(1)}
    for device in devices:
        following: Law = defaultdict(Fraction)
        for (a, b), chance in law.items():
            for (more_a, more_b), part in device.items():
                following[a + more_a, b + more_b] += chance * part
        law = following
    return law


def krr_devices(p: Fraction, q: Fraction) -> dict[str, Law]:
    """The laws of one device under krr."""

    def law(a: Fraction, b: Fraction) -> Law:
        return {(1, 0): a, (0, 1): b, (0, 0): 1 - a - b}

    return {"a": law(p, q), "b": law(q, p), "other": law(q, q)}


def bit_devices(p: Fraction, q: Fraction) -> dict[str, Law]:
    """The laws of one device with two independent bits."""

    def law(a: Fraction, b: Fraction) -> Law:
        return {(x, y): (a if x else 1 - a) * (b if y else 1 - b) for x in (0, 1) for y in (0, 1)}

    return {"a": law(p, q), "b": law(q, p), "other": law(q, q)}


def sign_test(ahead: int, signs: int) -> Fraction:
    """The two-sided p-value of `ahead` more in favour than against among `signs`."""
    if not ahead:
        return Fraction(1)
    tail = sum(comb(signs, c) for c in range((signs + abs(ahead)) // 2, signs + 1))
    return min(Fraction(1), Fraction(2 * tail, 2**signs))


P, Q = Fraction(7, 10), Fraction(1, 10)


@pytest.mark.parametrize("kind", ["krr", "bits"])
@pytest.mark.parametrize("held", [(0, 0, 7), (3, 3, 1), (2, 2, 3), (1, 0, 5), (3, 1, 2)])
def test_the_sign_test_never_alarms_too_often(kind: str, held: tuple[int, int, int]) -> None:
    """For fixed devices, every outcome enumerated: P[one-sided p <= t] <= t where f_A <= f_B."""
    kinds, law = {
        "krr": (krr_devices(P, Q), one_answer(P, Q)),
        "bits": (bit_devices(P, Q), independent_bits(P, Q)),
    }[kind]
    more, less, other = held
    n = sum(held)
    # B is the commoner or equal one.
    exact = both_of([kinds["b"]] * more + [kinds["a"]] * less + [kinds["other"]] * other)
    chance_of: dict[Fraction, Fraction] = defaultdict(Fraction)
    for (a, b), chance in exact.items():
        told = contrast(np.array([a]), np.array([b]), n, law, alpha=0.05)
        wanted = sign_test(a - b, min(a + b, 2 * n - a - b))
        assert told.exact[0]
        assert told.p_value[0] == pytest.approx(float(wanted), rel=1e-12)
        chance_of[wanted / 2 if a > b else Fraction(1)] += chance
    reached = Fraction(0)
    for level in sorted(chance_of):
        reached += chance_of[level]
        assert reached <= level or level == 1


def drawn(
    law: PairSupport, kind: str, shares: tuple[float, float], n: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Supports of two values in RUNS samples of n devices of a population."""
    rng = np.random.default_rng(seed)
    rest = 1 - sum(shares)
    have = rng.multinomial(n, [*shares, rest], RUNS)
    p, q = float(law.p), float(law.q)
    if kind == "bits":
        a = rng.binomial(have[:, 0], p) + rng.binomial(n - have[:, 0], q)
        b = rng.binomial(have[:, 1], p) + rng.binomial(n - have[:, 1], q)
        return a, b
    parts = [
        rng.multinomial(have[:, i], [*own, 1 - sum(own)])
        for i, own in enumerate([(p, q), (q, p), (q, q)])
    ]
    whole = np.sum(parts, axis=0)
    return whole[:, 0], whole[:, 1]


CASES = [
    ("krr", one_answer(Fraction(475, 1000), Fraction(175, 1000)), (0.3, 0.3), 2000),
    ("krr", one_answer(Fraction(948, 1000), Fraction(17, 1000)), (0.1, 0.05), 60),
    ("krr", one_answer(Fraction(948, 1000), Fraction(17, 1000)), (0.6, 0.3), 3000),
    ("bits", independent_bits(Fraction(1, 2), Fraction(269, 1000)), (0.2, 0.2), 3000),
    ("bits", independent_bits(Fraction(1, 2), Fraction(269, 1000)), (0.5, 0.1), 1000),
    ("bits", independent_bits(Fraction(1, 2), Fraction(18, 1000)), (0.02, 0.01), 400),
    ("bits", independent_bits(Fraction(3, 4), Fraction(1, 4)), (0.0, 0.0), 5000),
]
IDS = [f"{kind}-{float(law.p)}-{shares}-{n}" for kind, law, shares, n in CASES]


def made(
    kind: str, law: PairSupport, shares: tuple[float, float], n: int, *, judged: PairSupport
) -> Contrast:
    """The contrast of every run, under the law it is judged by."""
    a, b = drawn(law, kind, shares, n, 20261201)
    return contrast(a, b, n, judged, alpha=0.05)


@pytest.mark.parametrize(("kind", "law", "shares", "n"), CASES, ids=IDS)
def test_the_interval_of_the_difference_covers(
    kind: str, law: PairSupport, shares: tuple[float, float], n: int
) -> None:
    """Of 20,000 samples at least 95% hold the difference, but for five standard errors."""
    told = made(kind, law, shares, n, judged=law)
    truth = shares[0] - shares[1]
    assert ((told.low <= truth) & (truth <= told.high)).mean() >= 0.95 - SLACK - 0.002
    assert abs(told.difference.mean() - truth) < 5 * told.difference.std() / RUNS**0.5
    assert np.sqrt(np.square(told.std_error).mean()) == pytest.approx(
        told.difference.std(), rel=0.05
    )


@pytest.mark.parametrize(("kind", "law", "shares", "n"), CASES, ids=IDS)
def test_the_interval_excludes_0_just_where_the_test_does(
    kind: str, law: PairSupport, shares: tuple[float, float], n: int
) -> None:
    """An order that is stated never stands beside an interval on both sides of 0."""
    told = made(kind, law, shares, n, judged=law)
    both_sides = (told.low < 0) & (told.high > 0)
    assert not (both_sides & (told.p_value <= 0.05)).any()
    holds = (told.low <= 0) & (told.high >= 0)
    assert holds[told.p_value > 0.05].all()
    assert (told.low <= told.difference).all()
    assert (told.difference <= told.high).all()


@pytest.mark.parametrize(("kind", "law", "shares", "n"), CASES, ids=IDS)
def test_equal_shares_are_rarely_called_different(
    kind: str, law: PairSupport, shares: tuple[float, float], n: int
) -> None:
    """Of 20,000 samples of equal shares at most 5% have p <= .05, but for five standard errors."""
    told = made(kind, law, (sum(shares) / 2, sum(shares) / 2), n, judged=law)
    assert (told.p_value <= 0.05).mean() <= 0.05 + SLACK


def test_a_covariance_that_is_left_out_is_caught() -> None:
    """Planted: krr judged as if its two answers were independent alarms too often."""
    law = one_answer(Fraction(73, 100), Fraction(27, 100))
    planted = independent_bits(law.p, law.q)
    told = made("krr", law, (0.5, 0.5), 3000, judged=planted)
    assert (told.p_value <= 0.05).mean() > 0.05 + 5 * SLACK


def test_a_response_that_is_turned_round_is_read_from_the_other_side() -> None:
    """With p < q the counts of reports that do not support say the same."""
    a, b = np.array([400, 120, 3]), np.array([350, 180, 3])
    there = contrast(a, b, 1000, independent_bits(P, Q), alpha=0.05)
    back = contrast(1000 - a, 1000 - b, 1000, independent_bits(1 - P, 1 - Q), alpha=0.05)
    for name in ("difference", "std_error", "low", "high", "p_value"):
        np.testing.assert_allclose(getattr(there, name), getattr(back, name), atol=1e-9)
    counts = np.array([400, 350, 120])
    np.testing.assert_allclose(
        pairwise_p_values(counts, 1000, independent_bits(P, Q), alpha=0.05),
        pairwise_p_values(1000 - counts, 1000, independent_bits(1 - P, 1 - Q), alpha=0.05),
    )


@pytest.mark.parametrize("law", [one_answer(P, Q), independent_bits(P, Q)], ids=["krr", "bits"])
def test_all_pairs_decide_as_each_alone(law: PairSupport) -> None:
    """What the table of all pairs leaves out or bounds is on the same side of every Holm level."""
    counts = np.random.default_rng(3).integers(100, 260, 40)
    table = pairwise_p_values(counts, 4000, law, alpha=0.05)
    a, b = np.broadcast_arrays(counts[:, None], counts[None, :])
    alone = contrast(a.ravel(), b.ravel(), 4000, law, alpha=0.05).p_value.reshape(40, 40) / 2
    ahead = counts[:, None] > counts[None, :]
    assert (table[~ahead] == 1).all()
    within = ahead & (alone <= 0.05) & (alone > 0.05 / (40 * 39))
    assert within.any()
    np.testing.assert_allclose(table[within], alone[within], rtol=1e-9)
    sure = ahead & (table <= 0.05 / (40 * 39))
    assert (table[sure] >= alone[sure] * (1 - 1e-9)).all()
    assert (table[ahead & (alone > 0.05)] > 0.05).all()


def test_a_known_number_of_discordant_reports_is_used() -> None:
    """Where reports are counted by output, M is theirs and not a bound."""
    law = independent_bits(P, Q)
    told = contrast(np.array([30]), np.array([20]), 100, law, alpha=0.05, discordant=np.array([12]))
    assert told.exact[0]
    assert told.p_value[0] == pytest.approx(float(sign_test(10, 12)))


def test_covariances_of_a_regression_are_used() -> None:
    """Positive covariance makes a difference clearer; a value against itself is no order."""
    frequency = np.array([0.3, 0.2, 0.2])
    loose = normal_p_values(frequency, np.diag([0.0025] * 3))
    tied = normal_p_values(frequency, 0.0025 * np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]))
    assert loose[0, 1] == pytest.approx(0.0786, abs=1e-4)
    assert tied[0, 1] == pytest.approx(0.02275, abs=1e-4)
    assert tied[0, 2] == loose[0, 2]
    assert loose[1, 0] == pytest.approx(1 - loose[0, 1])
    assert (np.diag(loose) == 1).all()


def test_asks_for_a_report() -> None:
    """No report, no difference."""
    with pytest.raises(ValueError, match="n: is less than 1"):
        contrast(np.array([0]), np.array([0]), 0, one_answer(P, Q), alpha=0.05)
    with pytest.raises(ValueError, match="more than 2048 values"):
        pairwise_p_values(np.arange(2049), 5000, one_answer(P, Q), alpha=0.05)
    with pytest.raises(ValueError, match="alpha"):
        pairwise_p_values(np.array([1, 2]), 3, one_answer(P, Q), alpha=0)
