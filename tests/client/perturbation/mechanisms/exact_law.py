"""The exact output law of the client's own code, as fractions: the audit's enumeration of it.

The shipped functions meet chance only through the three draws of `Randomness`, each of which is
answered with every outcome in turn, so a law is what the code does, not what a formula says it
does. That the three draws themselves are exact is shown in test_randomness.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

from rumor_client.perturbation.mechanisms.table import memoised_perturber, perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.metric import Metric
from rumor_simulations.audit import exact_law
from rumor_simulations.audit.exact_law import Law

# What the largest domain here takes, many times over.
_LIMIT = 1 << 24


def branches(run: Callable[[Randomness], bytes]) -> Iterator[tuple[bytes, Fraction]]:
    """Yield every outcome of `run` with its exact probability."""
    return exact_law.branches(run, _LIMIT)


def law_of(run: Callable[[Randomness], bytes]) -> Law:
    """Return the law of `run`'s output, without the outcomes of probability 0."""
    return exact_law.law_of(run, _LIMIT)


def report_law(metric: Metric, text: str, cohort: int) -> Law:
    """Return the law of the payload that the installed client sends for a value, memo empty."""
    if not metric.mechanism.memoised:
        return law_of(lambda live: perturber(metric).perturb(text, cohort, live))
    part = memoised_perturber(metric)
    mixed: Law = {}
    answers = law_of(lambda chance: part.permanent(text, cohort, chance))
    for answer, weight in answers.items():
        for payload, p in response_law(metric, answer).items():
            mixed[payload] = mixed.get(payload, Fraction(0)) + weight * p
    return mixed


def response_law(metric: Metric, answer: bytes) -> Law:
    """Return the law of the payload given a permanent answer."""
    part = memoised_perturber(metric)
    return law_of(lambda live: part.instantaneous(answer, live))


def largest_ratio(laws: list[Law]) -> Fraction:
    """Return the largest ratio of one output's probability under any two of the laws.

    Raises AssertionError if an output is possible under one law and impossible under another.
    """
    worst = Fraction(1)
    for one, other in combinations(laws, 2):
        assert one.keys() == other.keys(), "an output tells its value apart with certainty"
        for output, p in one.items():
            worst = max(worst, p / other[output], other[output] / p)
    return worst
