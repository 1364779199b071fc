"""L-OSUE: a permanent round and a fresh one, as exact as OUE at the first report's epsilon (Y14).

Arcolezi, Couchot, Bouna, Xiao (2022). A bit is kept with p1 = 1/2 or set with q1 = 1/(e^inf + 1),
then answered with p2 or q2 = 1 - p2. It is not offered: RAPPOR's parameters are settled otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import exp, log, prod

from rumor_simulations.yardsticks.yardstick import Yardstick

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
