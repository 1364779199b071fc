"""Errors that can be believed: measured on simulated populations, and seen to fail on faults."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from tests.server.statistics.decoding.simulated_sketch import (
    Simulated,
    exponential,
    rappor_rates,
    simulate_bits,
)

from rumor_server.statistics.decoding import DecodedSketch, decode_sketch
from rumor_server.statistics.decoding.candidates import Block
from rumor_server.statistics.decoding.covariance import weigh
from rumor_server.statistics.decoding.least_squares import solve
from rumor_server.statistics.decoding.normal_equations import Equations
from rumor_server.statistics.decoding.selection import absent_candidates, select, step_up
from rumor_server.statistics.decoding.sketch import Sketch

Floats = NDArray[np.float64]

CANDIDATES = 200
SIGMAS = 5  # a false-alarm rate of 5.7e-7 a test
LEAST_RUNS = 500
DECODED_RUNS = 30


@functools.cache
def least_squares_z() -> Floats:
    """(estimate - truth)/sd of 10^5 (candidate, run) pairs, under weights at the true shares.

    Little noise and a commonest share of 5%, so that the sampling of people counts.
    """
    shares, rows = exponential(50, CANDIDATES), []
    for run in range(LEAST_RUNS):
        one = simulate_bits(
            100 + run, 100_000, shares, cells=64, rates=rappor_rates(0.225, 0.775, 0)
        )
        sketch = Sketch(one.counts, one.n, one.p1, one.p0, 2)
        block = Block.of(one.positions, sketch)
        fit = solve(Equations.of(sketch, weigh(sketch, block, shares), block))
        assert fit is not None
        variance = fit.variance - shares * (1 - shares) / sketch.reports
        rows.append((fit.shares - one.truth) / np.sqrt(variance))
    return np.concatenate(rows)


def is_one(z: Floats) -> bool:
    """Whether the mean square is 1 within five of its sigmas: 1 +- .022 over 10^5 pairs."""
    return bool(abs(np.square(z).mean() - 1) < SIGMAS * np.sqrt(2 / len(z)))


def test_unconstrained_variance_is_true() -> None:
    """Mean square of (estimate - truth)/sd is 1 +- .022 over 10^5 pairs, for a fixed population."""
    assert is_one(least_squares_z())


def test_variance_of_half_the_size_would_be_caught() -> None:
    """The planted fault of a variance too small by a half is seen in a fiftieth of the pairs."""
    assert not is_one(least_squares_z()[:2000] * np.sqrt(2))


@functools.cache
def decoded_runs(reports: int) -> list[tuple[Simulated, DecodedSketch]]:
    """The yardstick of issue 3: k = 128, two hashes, 16 cohorts, 100 present and 100 absent."""
    made = [
        simulate_bits(seed, reports, exponential(100, CANDIDATES)) for seed in range(DECODED_RUNS)
    ]
    return [(one, one.decode()) for one in made]


def test_intervals_cover() -> None:
    """The whole decoder's errors are true and its 95% intervals hold the truth 95% of the time."""
    z, holds = [], []
    for one, decoded in decoded_runs(10**6):
        z.append((decoded.estimate - one.truth) / decoded.std_error)
        holds.append((decoded.low <= one.truth) & (one.truth <= decoded.high))
    pairs = DECODED_RUNS * CANDIDATES
    assert is_one(np.concatenate(z))
    assert abs(np.concatenate(holds).mean() - 0.95) < SIGMAS * np.sqrt(0.95 * 0.05 / pairs)


def test_swapped_rates_would_be_caught() -> None:
    """The planted fault of rates that belong to 1 - p and 1 - q breaks the errors."""
    one = simulate_bits(0, 10**6, exponential(100, CANDIDATES), rates=(0.75, 0.375))
    decoded = one.decode(swap=True)
    assert not is_one((decoded.estimate - one.truth) / decoded.std_error)


def test_selected_intervals_cover() -> None:
    """Intervals of selected strings, adjusted for the selection, hold at least 95% of truths."""
    holds = []
    for one, decoded in decoded_runs(10**6):
        inside = (decoded.selected_low <= one.truth) & (one.truth <= decoded.selected_high)
        holds.append(inside[decoded.selected])
    held = np.concatenate(holds)
    assert held.mean() > 0.95 - SIGMAS * np.sqrt(0.95 * 0.05 / len(held))


def test_p_values_of_absent_strings_are_uniform() -> None:
    """P-values under 5% and under 1% come to absent strings that often, no more."""
    p = np.concatenate([decoded.p_value[100:] for _, decoded in decoded_runs(10**6)])
    for level in (0.05, 0.01):
        assert (p < level).mean() < level + SIGMAS * np.sqrt(level * (1 - level) / len(p))


def test_beats_the_yardstick_of_2014() -> None:
    """At 10^6 reports: 44 true strings, 1.4 false, distance .124 are matched and the distance
    beaten, within five standard errors of 30 runs.
    """
    true, false, distance = [], [], []
    for one, decoded in decoded_runs(10**6):
        chosen = decoded.selected
        true.append((chosen & (one.truth > 0)).sum())
        false.append((chosen & (one.truth == 0)).sum())
        distance.append(np.abs(np.where(chosen, decoded.fitted, 0) - one.truth).sum() / 2)
    root = np.sqrt(DECODED_RUNS)
    assert np.mean(true) > 44 - SIGMAS * np.std(true) / root
    assert np.mean(false) < 1.4 + SIGMAS * np.std(false) / root
    assert np.mean(distance) < 0.124


def test_local_hashing_is_decoded() -> None:
    """Reports that name one of four cells: errors are true, and as small as predicted."""
    rng = np.random.default_rng(11)
    cohorts, cells, candidates, keep = 512, 4, 128, 0.475
    shares = exponential(100, candidates)
    positions = rng.integers(0, cells, (candidates, cohorts, 1))
    people = rng.multinomial(300_000, shares)
    value, cohort = np.repeat(np.arange(candidates), people), rng.integers(0, cohorts, 300_000)
    named = positions[value, cohort, 0]
    other = (named + rng.integers(1, cells, 300_000)) % cells
    named = np.where(rng.random(300_000) < keep, named, other)
    counts = np.zeros((cohorts, cells), dtype=np.int64)
    np.add.at(counts, (cohort, named), 1)
    decoded = decode_sketch(
        counts,
        counts.sum(axis=1),
        keep,
        (1 - keep) / (cells - 1),
        lambda start, stop: positions[start:stop],
        candidates,
        hashes=1,
        law="categories",
    )
    assert decoded is not None
    truth = people / 300_000
    assert is_one((decoded.estimate - truth) / decoded.std_error)
    # formulas 1.2 and 1.5: V0/n of local hashing with g cells, inflated by 1/(1 - k/(M(g-1))).
    ratio = keep * (cells - 1) / (1 - keep)
    ideal = (ratio + cells - 1) ** 2 / ((ratio - 1) ** 2 * (cells - 1)) / 300_000
    inflated = ideal / (1 - candidates / (cohorts * (cells - 1)))
    assert np.square(decoded.std_error).mean() == pytest.approx(inflated, rel=0.02)
    assert decoded.diagnostics.unconstrained


LISTS = 400


def false_discoveries(absent: int, strength: float, p_factor: float = 1.0) -> tuple[float, float]:
    """Mean share of false ones among the marked, and its standard error: lists of 200 p-values.

    `p_factor` plants the fault of p-values that are too small.
    """
    rng, rates = np.random.default_rng(absent), []
    for _ in range(LISTS):
        z = rng.normal(np.where(np.arange(200) < absent, 0.0, strength))
        marked = select(norm.sf(z) * p_factor, 0.05, "fdr")
        rates.append(marked[:absent].sum() / max(1, marked.sum()))
    return float(np.mean(rates)), float(np.std(rates) / np.sqrt(LISTS))


@pytest.mark.parametrize("strength", [1.5, 3.0, 10.0])
@pytest.mark.parametrize("absent", [20, 60, 100, 160, 190])
def test_false_discovery_rate_is_kept(absent: int, strength: float) -> None:
    """At most 5% of the marked are false on average, whether few or most of a list are absent."""
    rate, error = false_discoveries(absent, strength)
    assert rate < 0.05 + SIGMAS * error


def test_halved_p_values_would_be_caught() -> None:
    """The planted fault of p-values of half their size breaks the rate."""
    rate, error = false_discoveries(190, 3.0, p_factor=0.5)
    assert rate > 0.05 + SIGMAS * error


def test_credit_goes_where_strings_are_left_to_find() -> None:
    """Where most of a list is present, 1.5 times as many are marked as by Benjamini-Hochberg.

    Where all that is present was found already, no more are.
    """
    rng = np.random.default_rng(15)
    hidden = norm.sf(np.concatenate([rng.normal(size=20), rng.normal(2, 1, 180)]))
    assert select(hidden, 0.05, "fdr").sum() > 1.5 * step_up(hidden, 0.05, 200).sum()
    plain = norm.sf(np.concatenate([rng.normal(size=100), rng.normal(20, 1, 100)]))
    assert np.array_equal(select(plain, 0.05, "fdr"), step_up(plain, 0.05, 200))
    assert absent_candidates(np.full(10, 0.9)) == 10


def test_mostly_present_list_keeps_the_rate() -> None:
    """180 of 200 present alike: over 130 are found at a false discovery rate of at most 5%."""
    true, rates = [], []
    for seed in range(10):
        one = simulate_bits(400 + seed, 10**6, exponential(180, CANDIDATES, decay=0.0))
        chosen = one.decode().selected
        true.append(chosen[:180].sum())
        rates.append(chosen[180:].sum() / max(1, chosen.sum()))
    assert np.mean(true) > 130
    assert np.mean(rates) < 0.05 + SIGMAS * np.std(rates) / np.sqrt(10)


@pytest.mark.parametrize("reports", [200, 2000])
def test_few_reports_mark_no_more_absent_strings(reports: int) -> None:
    """With a dozen reports a cohort p-values under .1% come to .1% of absent strings, no more."""
    p = np.concatenate(
        [
            simulate_bits(500 + run, reports, exponential(10, CANDIDATES), cells=64)
            .decode()
            .p_value[10:]
            for run in range(DECODED_RUNS)
        ]
    )
    assert (p < 1e-3).mean() < 1e-3 + SIGMAS * np.sqrt(1e-3 / len(p))


def test_nothing_is_marked_among_absent_strings() -> None:
    """Where nobody has any candidate, Bonferroni marks one in 5% of lists, no more."""
    rng = np.random.default_rng(13)
    marked = [select(rng.random(50), 0.05, "bonferroni").any() for _ in range(2000)]
    assert np.mean(marked) < 0.05 + SIGMAS * np.sqrt(0.05 * 0.95 / 2000)


def test_duplicated_run_is_not_more_certain() -> None:
    """Reports sent twice double n without doubling what is known: the dispersion tells."""
    one = simulate_bits(14, 10**6, exponential(100, CANDIDATES))
    twice = replace(one, counts=2 * one.counts, n=2 * one.n).decode()
    assert 1.8 < twice.diagnostics.dispersion < 2.2
