"""The exact joint law of a whole tally, from the enumerated law of the client's own code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from rumor_client import Client
from rumor_server.statistics.mechanisms import tally_of
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric
from rumor_simulations.audit.certificate import enumerated
from rumor_simulations.population import PopulationCounts

Cells = tuple[int, ...]
JointLaw = dict[Cells, Fraction]

# Cells expected less often than this are judged together.
LEAST_EXPECTED = 5


def flat(tally: Tally) -> Cells:
    """Return reports and counts as one tuple."""
    return tuple(tally.reports.tolist()) + tuple(tally.counts.ravel().tolist())


def increment(metric: Metric, cohort: int, payload: bytes) -> Cells:
    """Return what one report adds to a tally, by the server's own code."""
    tally = Tally.empty(metric.mechanism)
    tally.reports[cohort] += 1
    tally.counts[cohort] += tally_of(metric, [payload])
    return flat(tally)


def report_law(metric: Metric, text: str) -> JointLaw:
    """Return the law of what one device adds, by enumeration of all that its client does."""
    law: JointLaw = {}
    for name, p in enumerated(metric, text, Client, 100_000).report.items():
        payload = name[4 : 4 + metric.mechanism.payload_bytes]
        cells = increment(metric, int.from_bytes(name[:4], "little"), payload)
        law[cells] = law.get(cells, Fraction(0)) + p
    return law


def tally_law(metric: Metric, population: PopulationCounts) -> JointLaw:
    """Return the law of the sum over all devices of a crowd."""
    total: JointLaw = {
        (0,) * (metric.mechanism.cohorts * (1 + metric.mechanism.cells)): Fraction(1)
    }
    for text, count in zip(population.texts, population.counts.tolist(), strict=True):
        one = report_law(metric, text)
        for _ in range(count):
            added: JointLaw = {}
            for cells, p in total.items():
                for more, q in one.items():
                    together = tuple(a + b for a, b in zip(cells, more, strict=True))
                    added[together] = added.get(together, Fraction(0)) + p * q
            total = added
    return total


def chi_square_p(
    law: JointLaw, draw: Callable[[np.random.Generator], Tally], runs: int, seed: int
) -> float:
    """Return the p-value of Pearson's chi-square of `runs` tallies; 0 if one is impossible."""
    rng = np.random.default_rng(seed)
    seen: dict[Cells, int] = {}
    for _ in range(runs):
        cells = flat(draw(rng))
        if cells not in law:
            return 0.0
        seen[cells] = seen.get(cells, 0) + 1
    expected, observed = [0.0], [0]
    for cells, p in law.items():
        if p * runs < LEAST_EXPECTED:
            expected[0] += float(p * runs)
            observed[0] += seen.get(cells, 0)
        else:
            expected.append(float(p * runs))
            observed.append(seen.get(cells, 0))
    start = 0 if expected[0] >= LEAST_EXPECTED else 1
    gaps = np.array(observed[start:]) - np.array(expected[start:])
    statistic = float((gaps**2 / np.array(expected[start:])).sum())
    return float(chi2.sf(statistic, len(gaps) - 1))


def moments(
    metric: Metric, texts: Sequence[str], counts: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each cell of the tally of `counts` devices."""
    mechanism = metric.mechanism
    shape = mechanism.cohorts * (1 + mechanism.cells)
    mean, variance = np.zeros(shape), np.zeros(shape)
    for text, count in zip(texts, counts, strict=True):
        first, second = np.zeros(shape), np.zeros(shape)
        for cells, p in report_law(metric, text).items():
            first += float(p) * np.array(cells)
            second += float(p) * np.array(cells) ** 2
        mean += count * first
        variance += count * (second - first**2)
    return mean, np.sqrt(variance)
