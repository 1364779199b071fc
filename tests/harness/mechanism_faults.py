"""Faults that published software had, or might, planted in what a device perturbs by."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from rumor_client.perturbation.mechanisms import table
from rumor_client.perturbation.mechanisms.hadamard import HadamardPerturber
from rumor_client.perturbation.mechanisms.krr import KrrPerturber
from rumor_client.perturbation.mechanisms.rappor import RapporPerturber
from rumor_client.perturbation.mechanisms.subset import SubsetPerturber, uniform_subset
from rumor_client.perturbation.mechanisms.unary import UnaryPerturber
from rumor_client.perturbation.perturber import Perturber
from rumor_client.perturbation.randomness import Randomness
from rumor_shared.bits import encode_bits
from rumor_shared.probability import ONE


@contextmanager
def planted(mechanism: str, fault: type[Perturber]) -> Iterator[None]:
    """Let the device perturb by a faulty class for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "BUILT_IN", {**table.BUILT_IN, mechanism: lambda: fault})
        _forget()
        yield
    _forget()


def _forget() -> None:
    table.perturber_class.cache_clear()
    table._memoised_class.cache_clear()


class TrueBitKeptTwice(UnaryPerturber):
    """pure-ldp before 1.2: the true bit is set before all bits are flipped."""

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Perturb."""
        mechanism = self.mechanism
        vector = live.bits(len(mechanism.values), 0, 0, mechanism.clear_sets)
        if live.bernoulli(mechanism.set_stays):
            vector |= 1 << self.metric.indices[text]
        return encode_bits(vector, len(mechanism.values))


class LastBitInClear(UnaryPerturber):
    """The last bit is not perturbed."""

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Perturb."""
        mechanism = self.mechanism
        k = len(mechanism.values)
        own, last = 1 << self.metric.indices[text], 1 << (k - 1)
        vector = live.bits(k, own, mechanism.set_stays, mechanism.clear_sets)
        return encode_bits(vector & ~last | own & last, k)


class SameNoiseAlways(UnaryPerturber):
    """Every report draws from one seed, here one under which first and last value differ."""

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Perturb."""
        return super().perturb(text, cohort, Randomness(random.Random(3).randbytes))


class ExcludedValueDrawnAgain(SubsetPerturber):
    """A set that should not hold the value may."""

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Perturb."""
        mechanism = self.mechanism
        truth, k = self.metric.indices[text], len(mechanism.values)
        if live.bernoulli(mechanism.keep):
            others = uniform_subset(k - 1, mechanism.size - 1, live)
            return mechanism.encode({truth} | {i + (i >= truth) for i in others})
        return mechanism.encode(uniform_subset(k, mechanism.size, live))


class TruthInTheFirstSlot(SubsetPerturber):
    """A set travels in the order it was drawn."""

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Perturb."""
        mechanism = self.mechanism
        truth, k = self.metric.indices[text], len(mechanism.values)
        if live.bernoulli(mechanism.keep):
            rest = sorted(uniform_subset(k - 1, mechanism.size - 1, live))
            return bytes([truth, *(i + (i >= truth) for i in rest)])
        return bytes(i + (i >= truth) for i in sorted(uniform_subset(k - 1, mechanism.size, live)))


class _OtherKeep(KrrPerturber):
    """Tells the truth with another probability than declared."""

    def keep(self) -> int:
        """Return the probability over 2**64."""
        raise NotImplementedError

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Perturb."""
        other = replace(self.mechanism, keep=self.keep())
        return KrrPerturber(replace(self.metric, mechanism=other)).perturb(text, cohort, live)


class KeptToEightBits(_OtherKeep):
    """The probability of the truth is rounded to eight bits."""

    def keep(self) -> int:
        """Round."""
        step = ONE >> 8
        return (self.mechanism.keep + step // 2) // step * step


class TruthTooRarely(_OtherKeep):
    """The truth is told .003 too rarely: private enough, and every estimate is wrong."""

    def keep(self) -> int:
        """Take .003 away."""
        return self.mechanism.keep - ONE * 3 // 1000


class ValueOfItsOwn(KrrPerturber):
    """The last value stands for what is outside the domain, with an output nobody else emits."""

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Perturb."""
        mechanism = self.mechanism
        last = len(mechanism.values) - 1
        if self.metric.indices[text] == last:
            return bytes([last])
        return bytes([live.unless(mechanism.keep, self.metric.indices[text], last)])


class ShapeByValue(HadamardPerturber):
    """A list for the truth and a longer one for a lie."""

    def perturb(self, text: str, cohort: int, live: Randomness) -> bytes:
        """Perturb."""
        kept = live.bernoulli(self.mechanism.keep)
        if kept:
            return bytes([self.metric.indices[text]])
        return bytes([live.below(self.mechanism.columns), 0])


class SetBitsNeverCleared(RapporPerturber):
    """Neither response ever clears a set bit."""

    def permanent(self, text: str, cohort: int, randomness: Randomness) -> bytes:
        """Answer."""
        mechanism = self.mechanism
        bloom = self._bloom(text, cohort)
        drawn = randomness.bits(mechanism.bits, bloom, ONE, mechanism.half_f)
        return encode_bits(drawn, mechanism.bits)

    def instantaneous(self, permanent: bytes, live: Randomness) -> bytes:
        """Respond."""
        mechanism = self.mechanism
        vector = int.from_bytes(permanent, "little")
        reported = live.bits(mechanism.bits, vector, ONE, mechanism.p_set)
        return encode_bits(reported, mechanism.bits)


class HashCountIgnored(RapporPerturber):
    """All of epsilon for each of the h bits of a value: p and q further apart than they may be."""

    def instantaneous(self, permanent: bytes, live: Randomness) -> bytes:
        """Respond."""
        gap = (ONE - self.mechanism.q_set) // 2
        wide = replace(self.mechanism, q_set=ONE - gap, p_set=gap)
        return RapporPerturber(replace(self.metric, mechanism=wide)).instantaneous(permanent, live)


class OtherF(RapporPerturber):
    """One of Google's clients takes floor(128 f) / 128 for f."""

    def permanent(self, text: str, cohort: int, randomness: Randomness) -> bytes:
        """Answer."""
        step = ONE >> 8
        coarse = replace(self.mechanism, half_f=self.mechanism.half_f // step * step)
        other = RapporPerturber(replace(self.metric, mechanism=coarse))
        return other.permanent(text, cohort, randomness)


# Mechanism and class of each fault whose epsilon is above what is declared at epsilon 1.
FAULTS: dict[str, tuple[str, type[Perturber]]] = {
    "true bit kept with 1-(1-p)(1-q), sue": ("sue", TrueBitKeptTwice),
    "true bit kept with 1-(1-p)(1-q), oue": ("oue", TrueBitKeptTwice),
    "last bit of the vector in clear": ("oue", LastBitInClear),
    "excluded value may be drawn again": ("subset", ExcludedValueDrawnAgain),
    "truth always in slot 0 of the set": ("subset", TruthInTheFirstSlot),
    "value maps to an output nobody else emits": ("krr", ValueOfItsOwn),
    "set Bloom bits never cleared": ("rappor", SetBitsNeverCleared),
    "hash count ignored": ("rappor", HashCountIgnored),
    "noise repeated in every report": ("sue", SameNoiseAlways),
}

# Too small to be seen in thousands of trials: only the exact law shows them.
FINE_FAULTS: dict[str, tuple[str, type[Perturber]]] = {
    "p rounded to 8 bits": ("krr", KeptToEightBits),
    "effective f differs": ("basic_rappor", OtherF),
    "truth told .003 too rarely": ("krr", TruthTooRarely),
}
