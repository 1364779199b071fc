"""The exact output law of a client's own code, as fractions: no formula, no sampling.

A client meets chance only through the three draws of `Randomness`. `Branching` answers each draw
with every outcome in turn and multiplies the exact probabilities, so the law is what the code does.
(The client's own tests enumerate by it too.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeVar

from rumor_client.perturbation.randomness import Randomness
from rumor_shared.probability import HALF, as_fraction
from rumor_shared.wire import ID_BYTES

Law = dict[bytes, Fraction]
T = TypeVar("T")

# So many fair bits are an id. Whoever let a value into one would show it in place of 0.
OPAQUE_BITS = 8 * ID_BYTES


class UndeclaredChance(RuntimeError):
    """The client drew random bytes without one of the three draws, so it can't be enumerated."""

    def __init__(self) -> None:
        super().__init__("the client draws chance otherwise than by bernoulli, below and bits")


class TooManyOutcomes(RuntimeError):
    """The client has more outcomes than `limit`; enumerate a smaller domain."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.width = 1
        super().__init__(f"the client has more than {limit} outcomes; choose a smaller domain")


class Branching(Randomness):
    """Randomness that follows a script of outcomes and extends it with the first possible one."""

    def __init__(self, script: list[int], limit: int) -> None:
        super().__init__(_no_bytes)
        self.script = script
        self.limit = limit
        self.width = 1
        self.at = 0
        self.sizes: list[int] = []
        self.probability = Fraction(1)

    def _choose(self, count: int, probability: Callable[[int], Fraction]) -> int:
        self.width *= count
        if self.width > self.limit:
            # Equal branches elsewhere make at least as many outcomes: say so before trying them.
            raise TooManyOutcomes(self.limit)
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
        """Branch on every vector, but for the fair bits of an id: one stands for all of them."""
        if count >= OPAQUE_BITS and not set_mask and if_clear == HALF:
            return 0

        def probability(outcome: int) -> Fraction:
            product = Fraction(1)
            for i in range(count):
                p = as_fraction(if_set if set_mask >> i & 1 else if_clear)
                product *= p if outcome >> i & 1 else 1 - p
            return product

        return self._choose(1 << count, probability)


def _no_bytes(size: int) -> bytes:
    raise UndeclaredChance


def branches(run: Callable[[Randomness], T], limit: int) -> Iterator[tuple[T, Fraction]]:
    """Yield every outcome of `run` with its exact probability.

    Raises TooManyOutcomes for draws that branch more than `limit` times on one path.
    """
    script: list[int] = []
    while True:
        chance = Branching(script, limit)
        yield run(chance), chance.probability
        while script and script[-1] + 1 == chance.sizes[len(script) - 1]:
            script.pop()
        if not script:
            return
        script[-1] += 1


def law_of(run: Callable[[Randomness], bytes], limit: int) -> Law:
    """Return the law of `run`'s output, without the outcomes of probability 0.

    Raises TooManyOutcomes beyond `limit` outcomes, UndeclaredChance for bytes drawn elsewhere.
    """
    law: Law = {}
    for number, (outcome, probability) in enumerate(branches(run, limit)):
        if number >= limit:
            raise TooManyOutcomes(limit)
        if probability:
            law[outcome] = law.get(outcome, Fraction(0)) + probability
    return law
