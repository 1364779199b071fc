"""Where mechanisms for a number in [-1, 1] overtake each other (Y13; Wang et al., ICDE 2019).

    Duchi       +-C with C = (e^epsilon + 1)/(e^epsilon - 1)
    piecewise   uniform on [l, l + C - 1] with s/(s + 1), else on the rest of [-C, C], where
                s = e^(epsilon/2), C = (s + 1)/(s - 1), l = (C + 1) x/2 - (C - 1)/2
    hybrid      piecewise with 1 - 1/s, else Duchi

None is offered: continuous outputs are a floating-point hazard (Mironov 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp

from scipy.optimize import brentq

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

    beside = integral(-bound, left) + integral(right, bound)
    return inside * integral(left, right) + outside * beside


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
