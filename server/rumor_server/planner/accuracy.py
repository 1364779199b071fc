"""How exactly a share is estimated: everything follows from two probabilities.

A report supports a value with p where the device has it and q where it has another (Wang, Blocki,
Li, Jha 2017). Among n reports the variance of the share f is

    inflation [ q(1 - q) + f (p(1 - p) - q(1 - q)) ] / (n (p - q)^2)

linear in f, so it is worst at one of both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt

from scipy.special import ndtri

from rumor_server.planner.power import EXACT_COUNT, devices_with, share_found


@dataclass(frozen=True)
class Accuracy:
    """Support probabilities, and what decoding adds to the variance (1 where it adds nothing)."""

    p: Fraction
    q: Fraction
    inflation: float = 1.0

    def variance(self, share: float) -> float:
        """Return the variance of the share's estimate from one report; divide by n."""
        gap = self.p - self.q
        clear, own = self.q * (1 - self.q) / gap**2, self.p * (1 - self.p) / gap**2
        return self.inflation * ((1 - share) * float(clear) + share * float(own))

    def deviation(self, n: int, share: float = 0.0) -> float:
        """Return the standard deviation of the share's estimate from n reports."""
        return sqrt(self.variance(share) / n)

    def worst_deviation(self, n: int) -> float:
        """Return the largest standard deviation at any share from 0 to 1."""
        return sqrt(max(self.variance(0.0), self.variance(1.0)) / n)

    @property
    def influence(self) -> float:
        """How many devices with a value one report can claim to be: (1 - q)/(p - q)."""
        return float((1 - self.q) / (self.p - self.q))

    def detectable(self, n: int, k: int, *, power: float, alpha: float = 0.05) -> float:
        """Return the smallest share that is called present with this power, among k values tested.

        The test is one-sided at alpha / k (Bonferroni). It may exceed 1: then nothing is found.
        """
        reports = round(n / self.inflation)
        if 0 < reports * float(self.q) < EXACT_COUNT:
            return share_found(reports, float(self.p), float(self.q), alpha / k, power)
        bar, beyond = _quantiles(k, power, alpha)
        level = bar * self.deviation(n)
        # share = level + beyond sd(share), with sd^2 = a + b share: the larger root.
        a = self.variance(0.0) / n
        b = self.variance(1.0) / n - a
        half = beyond * beyond * b / 2
        root = sqrt(max(half * half + beyond * beyond * (a + b * level), 0.0))
        return level + half + (root if beyond >= 0 else -root)

    def devices_for_deviation(self, deviation: float) -> int:
        """Return how many reports give an absent value this standard deviation."""
        return ceil(self.variance(0.0) / deviation**2)

    def devices_for_detection(
        self, share: float, k: int, *, power: float, alpha: float = 0.05
    ) -> int:
        """Return how many reports find a share with this power among k values.

        By the exact law where few counts are expected by noise; what decoding adds to the variance
        counts as so many reports fewer.
        """
        bar, beyond = _quantiles(k, power, alpha)
        needed = bar * sqrt(self.variance(0.0)) + beyond * sqrt(self.variance(share))
        reports = (needed / share) ** 2
        if reports / self.inflation * float(self.q) >= EXACT_COUNT:
            return ceil(reports)
        exact = devices_with(share, float(self.p), float(self.q), alpha / k, power)
        return ceil(exact * self.inflation)


def _quantiles(k: int, power: float, alpha: float) -> tuple[float, float]:
    return float(-ndtri(alpha / k)), float(ndtri(power))
