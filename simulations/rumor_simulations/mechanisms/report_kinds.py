"""What reports of one kind have in common: how a forger makes them.

NumberReports   the payload is one integer below `outputs`
BitReports      the payload is a vector of bits
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np

from rumor_shared.bits import encode_bits
from rumor_shared.metric import Metric
from rumor_simulations.population import Counts, Floats, Octets


class NumberReports:
    """Forges reports that are one integer: any, or one of those that support most targets."""

    metric: Metric

    def evidence(self, payloads: Octets, cohorts: Counts, texts: tuple[str, ...]) -> Floats:
        """Return how much each report speaks for each text."""
        raise NotImplementedError

    @property
    def outputs(self) -> int:
        """How many integers a report may be."""
        return self.metric.mechanism.cells

    def chance(self, number: int, text: str, cohort: int) -> Fraction:
        """Return the declared probability of a number from a device that holds `text`."""
        raise NotImplementedError

    def chances(self, text: str, cohort: int) -> dict[bytes, Fraction]:
        """Return the declared law of the payload."""
        numbers = range(self.outputs)
        law = (self.chance(number, text, cohort) for number in numbers)
        return {name: p for name, p in zip(self._encoded(numbers), law, strict=True) if p}

    def forged(self, count: int, rng: np.random.Generator) -> list[bytes]:
        """Return `count` payloads, every possible one equally likely."""
        return self._encoded(rng.integers(self.outputs, size=count).tolist())

    def supporting(
        self, targets: Sequence[str], count: int, rng: np.random.Generator, *, hidden: bool
    ) -> list[bytes]:
        """Return payloads that support most of `targets` at once; a number has no weight."""
        numbers = self._encoded(list(range(self.outputs)))
        octets = np.frombuffer(b"".join(numbers), dtype=np.uint8).reshape(len(numbers), -1)
        cohorts = np.zeros(len(numbers), dtype=np.int64)
        support = (self.evidence(octets, cohorts, tuple(targets)) > 0).sum(axis=1)
        best = np.flatnonzero(support == support.max())
        return [numbers[i] for i in rng.choice(best, size=count).tolist()]

    def _encoded(self, numbers: Sequence[int]) -> list[bytes]:
        return [n.to_bytes(self.metric.mechanism.payload_bytes, "little") for n in numbers]


class BitReports:
    """Forges reports that are bits: any, or the targets' with a weight that an honest one has."""

    metric: Metric

    def forged(self, count: int, rng: np.random.Generator) -> list[bytes]:
        """Return `count` payloads, every vector equally likely."""
        bits = rng.integers(2, size=(count, self.metric.mechanism.cells), dtype=np.uint8)
        return _rows(np.packbits(bits, axis=1, bitorder="little"))

    def supporting(
        self, targets: Sequence[str], count: int, rng: np.random.Generator, *, hidden: bool
    ) -> list[bytes]:
        """Set the targets' bits; hidden, so many others that the weight is an honest mean."""
        mechanism = self.metric.mechanism
        own = [self.metric.indices[target] for target in targets]
        vectors = np.zeros((count, mechanism.cells), dtype=np.uint8)
        vectors[:, own] = 1
        law = mechanism.bit_law()
        if hidden and law is not None:
            weight = round(law.p1 + (mechanism.cells - 1) * law.p0)
            others = np.setdiff1d(np.arange(mechanism.cells), own)
            more = min(len(others), max(0, weight - len(own)))
            for vector in vectors:
                vector[rng.choice(others, size=more, replace=False)] = 1
                if weight < len(own):
                    vector[rng.choice(own, size=len(own) - weight, replace=False)] = 0
        return _rows(np.packbits(vectors, axis=1, bitorder="little"))


def _rows(octets: Octets) -> list[bytes]:
    return [row.tobytes() for row in octets]


def bit_chances(
    cells: int, own: Collection[int], p1: Fraction, p0: Fraction
) -> dict[bytes, Fraction]:
    """Return the law of `cells` independent bits: those in `own` are 1 with p1, others with p0."""
    law = {0: Fraction(1)}
    for bit in range(cells):
        p = p1 if bit in own else p0
        law = {
            vector | state << bit: chance * (p if state else 1 - p)
            for vector, chance in law.items()
            for state in (0, 1)
        }
    return {encode_bits(vector, cells): chance for vector, chance in law.items() if chance}
