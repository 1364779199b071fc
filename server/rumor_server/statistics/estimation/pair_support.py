"""How often a report supports exactly one of two values: all that their difference depends on.

A report adds +1 to C_A - C_B where it supports A alone, -1 where B alone, else nothing. Whatever
the mechanism,

    P[A alone] - P[B alone] = (p - q) (f_A - f_B)
    P[exactly one]          = own (f_A + f_B) + other (1 - f_A - f_B)

with own = p + q - 2 P[both | A or B], other = 2 q - 2 P[both | another value].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rumor_server.statistics.intervals.count_law import Counts


@dataclass(frozen=True)
class PairSupport:
    """p, q of one value; `own` and `other`: P[a report supports exactly one of A and B].

    `own` is for devices that have one of the two, `other` for those that have neither.
    """

    p: Fraction
    q: Fraction
    own: Fraction
    other: Fraction


@dataclass(frozen=True, eq=False)
class PairCounts:
    """In how many reports each value is supported, int64 (k,), and the law of any two of them."""

    counts: Counts
    law: PairSupport


def one_answer(p: Fraction, q: Fraction) -> PairSupport:
    """Return the law where a report names one value (krr): never both."""
    return _law(p, q, Fraction(0), Fraction(0))


def independent_bits(p: Fraction, q: Fraction) -> PairSupport:
    """Return the law where a report has an independent bit a value (unary encodings).

    Both bits are set with probability p q (f_A + f_B) + q^2 (1 - f_A - f_B).
    """
    return _law(p, q, p * q, q * q)


def uniform_subset(p: Fraction, q: Fraction, size: int, k: int) -> PairSupport:
    """Return the law where a report is a set of `size` of k >= 2 values (subset selection).

    Its members beside the device's own value are a uniform subset of the others.
    """
    own = p * Fraction(size - 1, k - 1)
    if k == 2:
        return _law(p, q, own, q)
    pairs = (k - 1) * (k - 2)
    other = p * Fraction((size - 1) * (size - 2), pairs) + (1 - p) * Fraction(
        size * (size - 1), pairs
    )
    return _law(p, q, own, other)


def hadamard_halves(p: Fraction) -> PairSupport:
    """Return the law of Hadamard response, where q = 1/2.

    Of the other values, one is told by whether A's and B's halves agree. Its devices support
    exactly one of the two less often than others (1 - p for 1/2); the law leaves that out and
    errs on the safe side.
    """
    half = Fraction(1, 2)
    return _law(p, half, p * half, half * half)


def orthogonal_points(p: Fraction, q: Fraction, field: int, dimension: int) -> PairSupport:
    """Return the law of projective geometry response over `field`^`dimension`.

    Values on the line through A and B are orthogonal to both more often than others; the law
    leaves that out and errs on the safe side.
    """
    points, one, two, three = (_points(field, dimension - lost) for lost in range(4))
    own = p * Fraction(two, one)
    other = p * Fraction(three, one) + (1 - p) * Fraction(two - three, points - one)
    return _law(p, q, own, other)


def _law(p: Fraction, q: Fraction, both_own: Fraction, both_other: Fraction) -> PairSupport:
    return PairSupport(p, q, p + q - 2 * both_own, 2 * q - 2 * both_other)


def _points(field: int, dimension: int) -> int:
    return sum(field**power for power in range(dimension))
