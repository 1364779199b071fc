"""Sums over a hash table and the regression on them, against dense matrices in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rumor_server.statistics.cohorts.cohort_regression import CohortTally, Law, regress
from rumor_server.statistics.cohorts.coincidences import information, sums

Floats = NDArray[np.float64]
Cells = NDArray[np.integer]

# Few cells go through columns, many through pairs. The largest take several blocks of a size that
# leaves a remainder; with the most cells no two values share any.
SHAPES = [(1, 2, 2), (7, 3, 50), (4099, 4, 300), (64, 24, 90), (64, 25, 90), (1031, 300, 300)]
SHAPES += [(3, 50_000, 5)]


def own(cohorts: int, cells: int, k: int) -> Cells:
    """The cell of each value in each cohort, drawn evenly."""
    drawn = np.random.default_rng(k).integers(0, cells, (cohorts, k))
    return drawn.astype(np.min_scalar_type(cells - 1))


def columns(owned: Cells, cells: int) -> Floats:
    """X, (cohorts x cells, k), written out: 1 where a value owns a cell, centred in each cohort."""
    cohorts, k = owned.shape
    x = np.full((cohorts, cells, k), -1 / cells)
    x[np.arange(cohorts)[:, None], owned, np.arange(k)] += 1
    return x.reshape(-1, k)


@pytest.mark.parametrize(("cohorts", "cells", "k"), SHAPES)
def test_sums_and_information_are_those_of_the_dense_matrix(
    cohorts: int, cells: int, k: int
) -> None:
    """Sums are equal to rounding; X'WX to a millionth of its diagonal, in the lower triangle."""
    owned = own(cohorts, cells, k)
    rng = np.random.default_rng(cohorts)
    weights, table = rng.uniform(0.1, 3, (cohorts, cells)), rng.standard_normal((cohorts, cells))
    rows = np.arange(cohorts)[:, None]
    np.testing.assert_allclose(sums(table, owned), table[rows, owned].sum(axis=0), atol=1e-9)
    wanted = np.zeros((k, k))
    for start in range(0, cohorts, 64):
        x = columns(owned[start : start + 64], cells)
        wanted += (x * weights[start : start + 64].ravel()[:, None]).T @ x
    made = information(weights, owned)
    assert np.abs(np.tril(made - wanted)).max() < 1e-6 * np.diag(wanted).max()


@pytest.mark.parametrize("law", ["categories", "bits"])
@pytest.mark.parametrize(("cohorts", "cells", "k"), [(512, 4, 60), (128, 40, 60), (3, 9, 5)])
def test_regression_is_that_of_the_dense_matrix(cohorts: int, cells: int, k: int, law: Law) -> None:
    """Shares and the errors of values and of sums are those of D^-1, worked out in doubles.

    To 10^-5 of an error: single precision in D, some of which its inverse multiplies.
    """
    owned = own(cohorts, cells, k)
    rng = np.random.default_rng(7)
    reports = rng.multinomial(50_000, np.full(cohorts, 1 / cohorts))
    p1, p0 = (0.475, 0.525 / (cells - 1)) if law == "categories" else (0.7, 0.3)
    have = np.append([0.3, 0.2], np.full(k - 2, 0.5 / (k - 2)))
    rates = p0 + (p1 - p0) * (1 / cells + (columns(owned, cells) @ have).reshape(cohorts, cells))
    counts = rng.poisson(reports[:, None] * rates)
    tally = CohortTally(counts, reports, p1, p0, law)
    made = regress(tally, owned)
    assert made is not None
    assert (made.pilot > 0).any()
    x = columns(owned, cells)
    at_pilot = p0 + (p1 - p0) * (1 / cells + x @ made.pilot)
    inverse, score = np.zeros((k, k)), np.zeros(k)
    left = (counts.ravel() - np.repeat(reports, cells) * at_pilot) / (p1 - p0)
    for cohort in range(cohorts):
        part = slice(cohort * cells, (cohort + 1) * cells)
        rate = at_pilot[part]
        share = (rate - p0) / (p1 - p0)
        covariance = np.zeros((cells, cells))
        alone = rate
        if law == "bits":
            covariance -= np.outer(share, share)
            alone = rate * (1 - rate)
        np.fill_diagonal(covariance, alone / (p1 - p0) ** 2)
        weighted = np.linalg.solve(covariance, x[part])
        inverse += x[part].T @ weighted / cohorts
        score += weighted.T @ left[part]
    inverse = np.asarray(np.linalg.inv(inverse), dtype=np.float64).reshape(k, k)
    wanted = made.pilot + inverse @ score / tally.n
    error = np.sqrt(np.diag(inverse) / tally.n)
    assert np.abs((made.shares - wanted) / error).max() < 1e-5
    np.testing.assert_allclose(made.variance, np.diag(inverse), rtol=1e-5)
    some = np.array([0, 2, k - 1])
    total = inverse[np.ix_(some, some)].sum()
    assert made.variance_of_sum(some) == pytest.approx(total, rel=1e-5)
