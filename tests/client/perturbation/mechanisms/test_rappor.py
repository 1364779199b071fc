"""RAPPOR keeps the contract over both responses and over many reports, and its faults are seen."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from typing import cast

import pytest
from tests.client.perturbation.mechanisms.contract import (
    MechanismContract,
    bit_counts,
    check_law,
    check_rates,
    letters,
    metric_with,
    seeded,
)
from tests.client.perturbation.mechanisms.exact_law import law_of, response_law

from rumor_client.perturbation.mechanisms.rappor import RapporPerturber
from rumor_client.perturbation.randomness import permanent_randomness
from rumor_shared.bits import encode_bits
from rumor_shared.epsilon import micro_epsilon
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.probability import as_fraction
from rumor_simulations.audit.exact_law import Law

RUNS = 20_000
ASYMMETRIC = {"f": 0.25, "p": 0.35, "q": 0.75}
TARGET = {"epsilon_infinity": 4, "epsilon_first_report": 1}
ONE_TIME = {"f": 0, "p": 0.25, "q": 0.6}


def bloom_of(metric: Metric, value: str, cohort: int) -> int:
    """Return a value's Bloom bits as an integer."""
    mechanism = cast(Rappor, metric.mechanism)
    found = mechanism.bloom_bits(hash_bytes(value.encode()), metric.key, cohort)
    return sum({1 << bit for bit in found})


def disjoint_values(metric: Metric, cohort: int) -> list[str]:
    """Return two values whose filters have all their bits and share none: the worst case."""
    hashes = cast(Rappor, metric.mechanism).hashes
    full = [v for v in letters(200) if bloom_of(metric, v, cohort).bit_count() == hashes]
    for one, other in product(full, full):
        if not bloom_of(metric, one, cohort) & bloom_of(metric, other, cohort):
            return [one, other]
    raise AssertionError("no two of 200 values are disjoint")


class TestRappor(MechanismContract):
    """RAPPOR over Bloom filters."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Filters of five bits, by parameters and by target, with and without memory."""
        metrics = [
            metric_with("rappor", bits=5, hashes=hashes, cohorts=4, **parameters)
            for hashes in (1, 2)
            for parameters in (ASYMMETRIC, TARGET, ONE_TIME)
        ]
        return [(m, disjoint_values(m, m.mechanism.cohorts - 1), True) for m in metrics]

    def wide_metric(self) -> Metric:
        """Three bytes, the last with three bits."""
        return metric_with("rappor", bits=19, cohorts=4, **ASYMMETRIC)

    def test_both_directions_have_their_rates(self) -> None:
        """f = .25, p = .35, q = .75 reports a Bloom 1 as 1 at .70 and a Bloom 0 at .40 (ST-01)."""
        mechanism = cast(Rappor, self.wide_metric().mechanism)
        assert abs(mechanism.q_star - Fraction(7, 10)) < Fraction(1, 10**18)
        assert abs(mechanism.p_star - Fraction(4, 10)) < Fraction(1, 10**18)

    @pytest.mark.parametrize("value", ["a", "b", "c"])
    def test_every_bit_at_its_own_rate(self, value: str) -> None:
        """Each bit, ends included, is set at q* if the filter has it and at p* if not."""
        metric = self.wide_metric()
        check_rates(*observed(metric, value), RUNS)

    def test_swapped_p_and_q_are_caught(self) -> None:
        """Planted fault: p and q exchanged gives .40 for .70, and the test of rates sees it."""
        metric = self.wide_metric()
        swapped = metric_with("rappor", bits=19, cohorts=4, f=0.25, p=0.75, q=0.35)
        counts, _ = observed(swapped, "a")
        _, rates = observed(metric, "a")
        with pytest.raises(AssertionError, match="rate of its own"):
            check_rates(counts, rates, RUNS)


class TestBasicRappor(MechanismContract):
    """RAPPOR with one bit a value."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Four values, by parameters and by target, with and without memory."""
        return [
            (metric_with("basic_rappor", values=letters(4), **parameters), letters(4), True)
            for parameters in (ASYMMETRIC, TARGET, ONE_TIME)
        ]

    def wide_metric(self) -> Metric:
        """Three bytes, the last with three bits."""
        return metric_with("basic_rappor", values=letters(19), **ASYMMETRIC)


def observed(metric: Metric, value: str) -> tuple[list[int], list[Fraction]]:
    """Return how often each bit was set over RUNS devices, and how often it should be."""
    mechanism = cast(Rappor, metric.mechanism)
    live = seeded(11)
    payloads = []
    for device in range(RUNS):
        secret = device.to_bytes(32, "little")
        permanent = permanent_randomness(secret, metric.name, 1, 3, value.encode())
        answer = RapporPerturber(metric).permanent(value, 3, permanent)
        payloads.append(RapporPerturber(metric).instantaneous(answer, live))
    bloom = bloom_of(metric, value, 3)
    rates = [
        mechanism.q_star if bloom >> i & 1 else mechanism.p_star for i in range(mechanism.bits)
    ]
    return bit_counts(payloads, mechanism.bits), rates


def joint_ratio(mechanism: Rappor, reports: int) -> Fraction:
    """Return the largest ratio of the law of `reports` reports of one unchanging value.

    Given its permanent bit the reports of a bit are independent, so only the number s of ones
    matters: P[s | b] mixes binomials of q and p over the permanent bit. 2h bits differ between
    disjoint filters.
    """
    half_f = as_fraction(mechanism.half_f)
    q, p = as_fraction(mechanism.q_set), as_fraction(mechanism.p_set)

    def ones(s: int, rate: Fraction) -> Fraction:
        return comb(reports, s) * rate**s * (1 - rate) ** (reports - s)

    ratios = []
    for s in range(reports + 1):
        of_one = (1 - half_f) * ones(s, q) + half_f * ones(s, p)
        of_zero = half_f * ones(s, q) + (1 - half_f) * ones(s, p)
        ratios.append(of_one / of_zero)
    return (max(ratios) / min(ratios)) ** mechanism.hashes


@pytest.mark.parametrize("parameters", [ASYMMETRIC, TARGET, {"f": 0.5, "p": 0.5, "q": 0.75}])
def test_many_reports_cost_no_more_than_charged(parameters: dict[str, float]) -> None:
    """T reports of one value lose at most T first reports and at most epsilon_infinity."""
    mechanism = cast(Rappor, metric_with("rappor", bits=8, cohorts=4, **parameters).mechanism)
    assert micro_epsilon(joint_ratio(mechanism, 1)) == mechanism.epsilon_report
    for reports in (2, 3, 10, 60):
        lost = micro_epsilon(joint_ratio(mechanism, reports))
        assert lost <= reports * mechanism.epsilon_report
        assert lost <= mechanism.epsilon_life(reports)


def test_joint_loss_approaches_epsilon_infinity() -> None:
    """Many reports reveal the permanent answer: the bound epsilon_infinity is reached."""
    mechanism = cast(Rappor, metric_with("rappor", bits=8, cohorts=4, **TARGET).mechanism)
    assert micro_epsilon(joint_ratio(mechanism, 200)) >= 0.999 * mechanism.epsilon_life(1)


def test_permanent_answer_is_permanent() -> None:
    """A permanent answer depends on secret, metric, revision, cohort and value, and on nothing
    else.
    """
    metric = metric_with("rappor", bits=128, cohorts=4, **ASYMMETRIC)

    def answer(secret: bytes, name: str, revision: int, cohort: int, value: str) -> bytes:
        chance = permanent_randomness(secret, name, revision, cohort, value.encode())
        return RapporPerturber(metric).permanent(value, cohort, chance)

    first = answer(b"s" * 32, "answer", 1, 2, "x")
    assert first == answer(b"s" * 32, "answer", 1, 2, "x")
    others = [
        answer(b"t" * 32, "answer", 1, 2, "x"),
        answer(b"s" * 32, "other", 1, 2, "x"),
        answer(b"s" * 32, "answer", 2, 2, "x"),
        answer(b"s" * 32, "answer", 1, 3, "x"),
        answer(b"s" * 32, "answer", 1, 2, "y"),
    ]
    assert len({first, *others}) == 6


def test_bits_never_cleared_are_caught() -> None:
    """A filter whose set bits are always reported identifies its value, and the law shows it."""
    metric = metric_with("rappor", bits=4, hashes=1, cohorts=4, **ONE_TIME)
    mechanism = cast(Rappor, metric.mechanism)

    def law(value: str) -> Law:
        bloom = bloom_of(metric, value, 0)
        return law_of(
            lambda live: encode_bits(bloom | live.bits(4, 0, 0, mechanism.p_set), mechanism.bits)
        )

    with pytest.raises(AssertionError, match="with certainty"):
        check_law(metric, [law(value) for value in disjoint_values(metric, 0)])


def test_permanent_answer_redrawn_is_caught() -> None:
    """A permanent answer drawn anew for each report loses more than it declares."""
    mechanism = cast(Rappor, metric_with("rappor", bits=8, cohorts=4, **TARGET).mechanism)
    redrawn = joint_ratio(mechanism, 1) ** 10
    assert micro_epsilon(redrawn) > mechanism.epsilon_life(1)


def test_response_is_fresh() -> None:
    """Each of two permanent answers has the same set of possible payloads."""
    metric = metric_with("rappor", bits=4, cohorts=4, **ASYMMETRIC)
    assert response_law(metric, b"\x00").keys() == response_law(metric, b"\x0f").keys()
