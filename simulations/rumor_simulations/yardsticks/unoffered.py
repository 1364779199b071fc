"""Mechanisms that the literature compares with and Rumor does not offer, each by its own law.

Numbers in [-1, 1] (Y13; Wang et al., ICDE 2019); continuous outputs are a floating-point hazard
(Mironov 2012):

    Duchi       +-C with C = (e^epsilon + 1)/(e^epsilon - 1)
    piecewise   uniform on [l, l + C - 1] with s/(s + 1), else on the rest of [-C, C], where
                s = e^(epsilon/2), C = (s + 1)/(s - 1), l = (C + 1) x/2 - (C - 1)/2
    hybrid      piecewise with 1 - 1/s, else Duchi

L-OSUE (Y14; Arcolezi, Couchot, Bouna, Xiao 2022), a permanent round and a fresh one, as exact as
OUE at the first report's epsilon: a bit is kept with p1 = 1/2 or set with q1 = 1/(e^inf + 1), then
answered with p2 or q2 = 1 - p2. RAPPOR's parameters are chosen otherwise.

Hadamard response in blocks (Acharya, Sun, Zhang 2019): at a high epsilon its authors split the K
columns into B = 2^floor(log2 e^eps) blocks of b each; a value has a half of its own block, and all
else is the other side. A value that shares its block with a common one is much noisier, at epsilon
5 up to 75 times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, exp, floor, log, log2, prod

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rumor_server.statistics.transforms import walsh_hadamard
from rumor_simulations.yardsticks.yardstick import Yardstick

# Variances are quadratic in x, so ends and middle tell the worst.
_NUMBERS = (0.0, 0.5, 1.0)


def measure_numbers() -> Iterator[Yardstick]:
    """Yield Y13: predicted from the papers' worst variances, ours from the moments of the laws."""
    rows: list[tuple[str, float, Variance, Variance]] = [
        ("the hybrid mechanism is better than Duchi's", 0.6094, _hybrid_formula, hybrid),
        ("the piecewise mechanism is better than Duchi's", 1.2898, _piecewise_formula, piecewise),
    ]
    for what, published, formula, law in rows:
        yield Yardstick(
            "Y13",
            f"epsilon from which {what}, at the worst number",
            _threshold(formula, _duchi_formula),
            published,
            _threshold(law, duchi),
            0,
            4,
        )


Variance = Callable[[float, float], float]


def duchi(epsilon: float, x: float) -> float:
    """Return the variance of Duchi's two answers."""
    bound = (exp(epsilon) + 1) / (exp(epsilon) - 1)
    up = 0.5 + x / (2 * bound)
    mean = bound * (2 * up - 1)
    return up * (bound - mean) ** 2 + (1 - up) * (bound + mean) ** 2


def piecewise(epsilon: float, x: float) -> float:
    """Return the variance of the piecewise mechanism, integrated piece by piece."""
    return _moment(epsilon, x, 2) - _moment(epsilon, x, 1) ** 2


def hybrid(epsilon: float, x: float) -> float:
    """Return the variance of the hybrid: both parts are unbiased, so variances mix."""
    rest = exp(-epsilon / 2)
    return (1 - rest) * piecewise(epsilon, x) + rest * duchi(epsilon, x)


def _moment(epsilon: float, x: float, power: int) -> float:
    s = exp(epsilon / 2)
    bound = (s + 1) / (s - 1)
    left = (bound + 1) * x / 2 - (bound - 1) / 2
    right = left + bound - 1
    inside = s / (s + 1) / (bound - 1)
    outside = 1 / (s + 1) / (bound + 1)

    def integral(start: float, end: float) -> float:
        return (end ** (power + 1) - start ** (power + 1)) / (power + 1)

    outside_mean = integral(-bound, left) + integral(right, bound)
    return inside * integral(left, right) + outside * outside_mean


def _duchi_formula(epsilon: float, x: float) -> float:
    return ((exp(epsilon) + 1) / (exp(epsilon) - 1)) ** 2 - x**2


def _piecewise_formula(epsilon: float, x: float) -> float:
    s = exp(epsilon / 2)
    return x**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2)


def _hybrid_formula(epsilon: float, x: float) -> float:
    s = exp(epsilon / 2)
    return (s + 3) / (3 * s * (s - 1)) + _duchi_formula(epsilon, 0) / s


def _threshold(one: Variance, other: Variance) -> float:
    def excess(epsilon: float) -> float:
        return max(one(epsilon, x) for x in _NUMBERS) - max(other(epsilon, x) for x in _NUMBERS)

    return float(brentq(excess, 0.1, 4.0, xtol=1e-12))


# Of each pair: the epsilon of all reports of one value, and that of the first report.
_EPSILONS = ((2.0, 1.0), (4.0, 1.0), (4.0, 2.0))
_PUBLISHED = {1.0: 3.6827}
_K = 3

Bits = tuple[int, ...]


@dataclass(frozen=True)
class TwoRounds:
    """Each bit of the unary encoding: kept with p1, set with q1; then answered with p2, q2."""

    p1: float
    q1: float
    p2: float
    q2: float

    @classmethod
    def l_osue(cls, infinity: float, first: float) -> TwoRounds:
        """Return the parameters for epsilons of all reports and of the first."""
        both = exp(infinity + first) - 1
        p2 = both / (exp(infinity) - exp(first) + both)
        return cls(0.5, 1 / (exp(infinity) + 1), p2, 1 - p2)

    def law(self, value: int, k: int) -> dict[Bits, float]:
        """Return the law of the first report of a device, by enumerating both rounds."""
        law = dict.fromkeys(product((0, 1), repeat=k), 0.0)
        for permanent in law:
            kept = prod(
                _chance(bit, self.p1 if i == value else self.q1) for i, bit in enumerate(permanent)
            )
            for report in law:
                law[report] += kept * prod(
                    _chance(bit, self.p2 if was else self.q2)
                    for bit, was in zip(report, permanent, strict=True)
                )
        return law


def measure_two_rounds() -> Iterator[Yardstick]:
    """Yield Y14: the variance of a value that nobody has, and the first report's epsilon."""
    for infinity, first in _EPSILONS:
        rounds = TwoRounds.l_osue(infinity, first)
        laws = [rounds.law(value, _K) for value in range(_K)]
        what = f"L-OSUE (not offered), epsilon for ever {infinity:g}, of one report {first:g}"
        ratio = max(one[r] / other[r] for one, other in product(laws, laws) for r in one)
        yield Yardstick("Y14", f"{what}: epsilon enumerated", first, None, log(ratio), 0, 9)
        predicted = 4 * exp(first) / (exp(first) - 1) ** 2
        published = _PUBLISHED.get(first)
        measured = _variance(laws)
        yield Yardstick("Y14", f"{what}: variance of a report", predicted, published, measured, 0)


def _variance(laws: list[dict[Bits, float]]) -> float:
    """Return the variance of a debiased bit that the value doesn't set, from enumerated laws."""
    p, q = (sum(chance for bits, chance in law.items() if bits[0]) for law in laws[:2])
    return q * (1 - q) / (p - q) ** 2


def _chance(bit: int, p: float) -> float:
    return p if bit else 1 - p


Counts = NDArray[np.int64]


@dataclass(frozen=True)
class BlockHadamard:
    """`blocks` of `width` columns; `ratio` is e^epsilon."""

    k: int
    ratio: float
    blocks: int
    width: int

    @classmethod
    def of(cls, k: int, epsilon: float) -> BlockHadamard:
        """Return the parameters that its authors take."""
        blocks = 2 ** floor(log2(exp(epsilon)))
        return cls(k, exp(epsilon), blocks, 2 ** ceil(log2(k / blocks + 1)))

    @property
    def places(self) -> tuple[Counts, Counts]:
        """Return the block and the row of each value; row 0 of a block has no other half."""
        value = np.arange(self.k)
        return value // (self.width - 1), value % (self.width - 1) + 1

    def draw(self, held: Counts, rng: np.random.Generator) -> Counts:
        """Return int64 (blocks, width): how often each column came, of a value each device."""
        value = np.repeat(np.arange(self.k), held)
        block, row = (place[value] for place in self.places)
        own = self.ratio * self.width / 2
        chance = own / (own + self.blocks * self.width - self.width / 2)
        true = rng.random(len(value)) < chance
        column = rng.integers(self.width, size=len(value))
        # Toggling a bit of the row maps either half one to one onto the other.
        column ^= np.where(np.bitwise_count(row & column) % 2, row & -row, 0)
        # Outside: the other half of the block, or any column of another block.
        outside = rng.integers(2 * self.blocks - 1, size=len(value))
        elsewhere = ~true & (outside > 0)
        other = (outside - 1) // 2
        other += other >= block
        column = np.where(~true & (outside == 0), column ^ (row & -row), column)
        column = np.where(elsewhere, rng.integers(self.width, size=len(value)), column)
        places = np.where(elsewhere, other, block) * self.width + column
        counts = np.bincount(places, minlength=self.blocks * self.width)
        return counts.reshape(self.blocks, self.width)

    def estimate(self, counts: Counts) -> NDArray[np.float64]:
        """Return the estimated number of devices with each value."""
        block, row = self.places
        scale = (2 * self.blocks - 1 + self.ratio) / (self.ratio - 1)
        return np.asarray(walsh_hadamard(counts)[block, row] * scale, dtype=np.float64)

    def mean_variance(self, held: Counts) -> float:
        """Return the exact variance of a count's estimate, averaged over all values."""
        n, e, b = held.sum(), self.ratio, self.blocks
        block, _ = self.places
        same_block = np.bincount(block, held, minlength=b)[block]
        own = (2 * b - 1 + e) * (e + 1) / (e - 1) ** 2
        away = 2 * (2 * b - 1 + e) / (e - 1) ** 2
        return float((same_block * own + (n - same_block) * away - held).mean())
