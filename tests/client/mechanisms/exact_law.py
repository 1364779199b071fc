"""The exact output law of the client's own code, as fractions.

The shipped functions meet chance only through the three draws of `Randomness`. `Branching` answers
each draw with every outcome in turn and multiplies the exact probabilities, so a law is what the
code does, not what a formula says it does. That the three draws themselves are exact is shown in
test_randomness.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

from rumor_client.randomness import Randomness
from rumor_shared.mechanism import mechanism_module
from rumor_shared.metric import Metric
from rumor_shared.probability import as_fraction

Law = dict[bytes, Fraction]


class Branching(Randomness):
    """Randomness that follows a script of outcomes and extends it with the first possible one."""

    def __init__(self, script: list[int]) -> None:
        super().__init__(_no_bytes)
        self.script = script
        self.at = 0
        self.sizes: list[int] = []
        self.probability = Fraction(1)

    def _choose(self, count: int, probability: Callable[[int], Fraction]) -> int:
        if self.at == len(self.script):
            self.script.append(0)
        outcome = self.script[self.at]
        self.at += 1
        self.sizes.append(count)
        self.probability *= probability(outcome)
        return outcome

    def bernoulli(self, numerator: int) -> bool:
        """Branch on both outcomes."""
        p = as_fraction(numerator)
        return self._choose(2, lambda outcome: p if outcome else 1 - p) == 1

    def below(self, n: int) -> int:
        """Branch on every number."""
        return self._choose(n, lambda outcome: Fraction(1, n))

    def bits(self, count: int, set_mask: int, if_set: int, if_clear: int) -> int:
        """Branch on every vector."""

        def probability(outcome: int) -> Fraction:
            product = Fraction(1)
            for i in range(count):
                p = as_fraction(if_set if set_mask >> i & 1 else if_clear)
                product *= p if outcome >> i & 1 else 1 - p
            return product

        return self._choose(1 << count, probability)


def _no_bytes(size: int) -> bytes:
    raise AssertionError("a mechanism drew bytes without one of the three draws")


def branches(run: Callable[[Randomness], bytes]) -> Iterator[tuple[bytes, Fraction]]:
    """Yield every outcome of `run` with its exact probability."""
    script: list[int] = []
    while True:
        chance = Branching(script)
        outcome = run(chance)
        yield outcome, chance.probability
        while script and script[-1] + 1 == chance.sizes[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1


def law_of(run: Callable[[Randomness], bytes]) -> Law:
    """Return the law of `run`'s output, without the outcomes of probability 0."""
    law: Law = {}
    for outcome, probability in branches(run):
        if probability:
            law[outcome] = law.get(outcome, Fraction(0)) + probability
    return law


def report_law(metric: Metric, text: str, cohort: int) -> Law:
    """Return the law of the payload that the installed client sends for a value, memo empty."""
    module = mechanism_module("rumor_client", metric.mechanism.name)
    if not metric.mechanism.memoised:
        return law_of(lambda live: module.perturb(metric, text, cohort, live))
    mixed: Law = {}
    answers = law_of(lambda chance: module.permanent(metric, text, cohort, chance))
    for answer, weight in answers.items():
        for payload, p in response_law(metric, answer).items():
            mixed[payload] = mixed.get(payload, Fraction(0)) + weight * p
    return mixed


def response_law(metric: Metric, answer: bytes) -> Law:
    """Return the law of the payload given a permanent answer."""
    module = mechanism_module("rumor_client", metric.mechanism.name)
    return law_of(lambda live: module.instantaneous(metric, answer, live))


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
