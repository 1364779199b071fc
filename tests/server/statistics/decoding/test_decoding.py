"""What the decoder promises whatever the sketch: truth found, order and split without effect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.statistics.decoding.simulated_sketch import deal, exponential, simulate_bits

from rumor_server.statistics.decoding import SketchError, decode_sketch


def test_planted_strings_are_found() -> None:
    """The ten common strings of 5,000 candidates are selected and lie within five standard errors.

    The false alarm rate is 10 x 6e-7.
    """
    sketch = simulate_bits(1, 10**6, exponential(10, 5000, decay=0.2), cohorts=32)
    decoded = sketch.decode(correction="bonferroni")
    assert decoded.selected[:10].all()
    assert decoded.diagnostics.survivors < 1000
    error = np.abs(decoded.estimate - sketch.truth)[:10]
    assert (error < 5 * decoded.std_error[:10]).all()


@pytest.mark.slow
def test_screen_hides_nobody() -> None:
    """Every candidate has an estimate with a true error, also where the screen drops it."""
    sketch = simulate_bits(2, 10**6, exponential(50, 5000), cohorts=32)
    decoded = sketch.decode()
    z = (decoded.estimate - sketch.truth) / decoded.std_error
    # Five standard errors of a mean square over 5,000 candidates.
    assert abs(np.square(z).mean() - 1) < 5 * np.sqrt(2 / 5000)


def test_cell_hit_twice_counts_once() -> None:
    """A string whose hashes meet in one cell is estimated as well as one with two cells."""
    sketch = simulate_bits(3, 10**6, exponential(4, 4), cells=16)
    assert (sketch.positions[:, :, 0] == sketch.positions[:, :, 1]).any()
    sketch.positions[0, :, 1] = sketch.positions[0, :, 0]
    people = np.round(sketch.truth * 10**6).astype(np.int64)
    rng = np.random.default_rng(3)
    owners, n = deal(people, sketch.positions, 16, rng)
    counts = rng.binomial(owners, 0.7) + rng.binomial(n[:, None] - owners, 0.3)
    decoded = decode_sketch(counts, n, 0.7, 0.3, lambda a, b: sketch.positions[a:b], 4, hashes=2)
    assert decoded is not None
    assert (np.abs(decoded.estimate - sketch.truth) < 5 * decoded.std_error).all()


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_of_candidates_has_no_effect(seed: int) -> None:
    """Permuted candidates give the permuted answer, to rounding."""
    sketch = simulate_bits(seed, 50_000, exponential(10, 40), cohorts=8, cells=32)
    order = np.random.default_rng(seed).permutation(40)
    plain = sketch.decode()
    shuffled = decode_sketch(
        sketch.counts,
        sketch.n,
        sketch.p1,
        sketch.p0,
        lambda start, stop: sketch.positions[order][start:stop],
        40,
        hashes=2,
    )
    assert shuffled is not None
    np.testing.assert_allclose(shuffled.estimate, plain.estimate[order], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(shuffled.fitted, plain.fitted[order], rtol=1e-4, atol=1e-7)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), parts=st.integers(1, 5))
def test_merged_tallies_give_the_identical_answer(seed: int, parts: int) -> None:
    """Counts split over any number of servers and added give every number of the unsplit one."""
    rng = np.random.default_rng(seed)
    sketch = simulate_bits(seed, 20_000, exponential(10, 40), cohorts=4, cells=32)
    split = rng.multinomial(sketch.counts, np.full(parts, 1 / parts))
    people = rng.multinomial(sketch.n, np.full(parts, 1 / parts))
    merged = decode_sketch(
        split.sum(axis=2),
        people.sum(axis=1),
        sketch.p1,
        sketch.p0,
        lambda start, stop: sketch.positions[start:stop],
        40,
        hashes=2,
    )
    plain = sketch.decode()
    assert merged is not None
    assert np.array_equal(merged.estimate, plain.estimate)
    assert np.array_equal(merged.p_value, plain.p_value)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), cohorts=st.sampled_from([1, 2, 8]))
def test_no_noise_gives_the_exact_truth(seed: int, cohorts: int) -> None:
    """Where every report shows its cells as they are, shares come out exactly, in any cohorts."""
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 1000, 12) * (np.arange(12) < 8)
    people[0] += 1
    positions = np.stack([rng.permutation(64)[:24].reshape(12, 2) for _ in range(cohorts)], 1)
    owners, n = deal(people, positions, 64, rng)
    decoded = decode_sketch(owners, n, 1.0, 0.0, lambda a, b: positions[a:b], 12, hashes=2)
    assert decoded is not None
    np.testing.assert_allclose(decoded.estimate, people / people.sum(), atol=1e-6)
    assert abs(decoded.unexplained) < 1e-6


@pytest.mark.parametrize("cohorts", [1, 2])
@pytest.mark.parametrize(("cells", "hashes"), [(2, 1), (8, 2), (128, 2)])
@pytest.mark.parametrize("candidates", [1, 3, 200])
@pytest.mark.parametrize("reports", [1, 10, 20_000])
def test_small_sketches_stay_finite(
    cohorts: int, cells: int, hashes: int, candidates: int, reports: int
) -> None:
    """One cohort, two cells, more candidates than cells, one report: every number is finite."""
    shares = exponential(min(3, candidates), candidates)
    sketch = simulate_bits(5, reports, shares, cohorts=cohorts, cells=cells, hashes=hashes)
    decoded = sketch.decode()
    for column in (decoded.estimate, decoded.std_error, decoded.low, decoded.high, decoded.fitted):
        assert np.isfinite(column).all()
    assert ((decoded.p_value >= 0) & (decoded.p_value <= 1)).all()
    assert np.isfinite([decoded.unexplained, decoded.unexplained_std_error]).all()


def test_empty_cohorts_have_no_effect() -> None:
    """A cohort that nobody reported from leaves the answer as it is without it."""
    sketch = simulate_bits(6, 100_000, exponential(10, 40), cohorts=8, cells=32)
    without = sketch.decode()
    counts = np.concatenate([sketch.counts, np.zeros((3, 32), dtype=np.int64)])
    n = np.concatenate([sketch.n, np.zeros(3, dtype=np.int64)])
    positions = np.concatenate([sketch.positions, sketch.positions[:, :3]], axis=1)
    decoded = decode_sketch(
        counts, n, sketch.p1, sketch.p0, lambda a, b: positions[a:b], 40, hashes=2
    )
    assert decoded is not None
    np.testing.assert_allclose(decoded.estimate, without.estimate, rtol=1e-9)
    np.testing.assert_allclose(decoded.std_error, without.std_error, rtol=1e-9)


@pytest.mark.parametrize("candidates", [40, 3000])
def test_value_listed_twice_counts_once(candidates: int) -> None:
    """Twins each show what the value shows listed once, and nobody else's answer moves."""
    sketch = simulate_bits(8, 200_000, exponential(10, candidates), cohorts=8, cells=32)
    once = sketch.decode(correction="bonferroni")
    order = np.concatenate([[5, 0], np.arange(candidates), [0, 37]])
    listed = replace(sketch, positions=sketch.positions[order], truth=sketch.truth[order])
    # A filter is a set: the twin names its two cells the other way round.
    listed.positions[-1] = listed.positions[-1][:, ::-1]
    twice = listed.decode(correction="bonferroni")
    for name in ("estimate", "std_error", "p_value", "fitted"):
        got, expected = getattr(twice, name), getattr(once, name)[order]
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)
    assert np.array_equal(twice.selected, once.selected[order])
    assert np.array_equal(twice.same_as[:4], [0, 1, 1, 3])
    assert np.array_equal(twice.same_as[-2:], [1, 39])
    assert twice.unexplained == pytest.approx(once.unexplained, abs=1e-6)


def test_values_that_collide_share_one_answer() -> None:
    """More candidates than a sketch has places: each shows the share of all that own its cell."""
    counts, n = np.array([[700, 300]]), np.array([1000])
    cells = np.array([0, 1, 0, 0]).reshape(4, 1, 1)
    decoded = decode_sketch(counts, n, 1.0, 0.0, lambda a, b: cells[a:b], 4, hashes=1)
    assert decoded is not None
    assert np.array_equal(decoded.same_as, [0, 1, 0, 0])
    assert len(set(decoded.estimate[[0, 2, 3]])) == 1


def test_no_reports_give_no_estimate() -> None:
    """Without reports there is nothing to estimate: None, not numbers that look like some."""
    positions = np.zeros((5, 4, 2), dtype=np.int64)
    empty = np.zeros((4, 16), dtype=np.int64)
    assert (
        decode_sketch(empty, empty[:, 0], 0.7, 0.3, lambda a, b: positions[a:b], 5, hashes=2)
        is None
    )


def test_unlisted_mass_is_reported() -> None:
    """What no candidate explains is the unexplained share, within five standard errors."""
    sketch = simulate_bits(7, 10**6, exponential(40, 40, decay=0.0))
    listed = sketch.positions[:25]
    decoded = decode_sketch(
        sketch.counts, sketch.n, sketch.p1, sketch.p0, lambda a, b: listed[a:b], 25, hashes=2
    )
    assert decoded is not None
    error = abs(decoded.unexplained - sketch.truth[25:].sum())
    assert error < 5 * decoded.unexplained_std_error


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("counts", {"counts": np.zeros(8, dtype=np.int64)}),
        ("counts", {"counts": np.full((2, 8), 99, dtype=np.int64)}),
        ("n", {"n": np.zeros(3, dtype=np.int64)}),
        ("p1", {"p1": 0.3, "p0": 0.7}),
        ("p1", {"p1": float("nan")}),
        ("hashes", {"hashes": 8}),
        ("hashes", {"law": "categories", "hashes": 2}),
        ("p0", {"law": "categories"}),
        ("positions", {"positions": lambda a, b: np.full((b - a, 2, 1), 8)}),
        ("positions", {"positions": lambda a, b: np.zeros((b - a, 2), dtype=np.int64)}),
        ("positions", {"positions": lambda a, b: np.zeros((1, 2, 1), dtype=np.int64)}),
        ("candidates", {"candidates": 0}),
        ("alpha", {"alpha": 0.0}),
    ],
)
def test_wrong_argument_is_named(field: str, change: dict[str, object]) -> None:
    """An argument that can't be decoded is refused by its name."""
    arguments: dict[str, object] = {
        "counts": np.full((2, 8), 5, dtype=np.int64),
        "n": np.full(2, 10, dtype=np.int64),
        "p1": 0.7,
        "p0": 0.3,
        "positions": lambda a, b: np.zeros((b - a, 2, 1), dtype=np.int64),
        "candidates": 3,
        "hashes": 1,
    }
    with pytest.raises(SketchError) as caught:
        decode_sketch(**{**arguments, **change})  # type: ignore[arg-type]
    assert caught.value.field == field
