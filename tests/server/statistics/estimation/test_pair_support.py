"""How often a report supports exactly one of two values, against every output enumerated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, product

import pytest

from rumor_server.statistics.estimation.pair_support import (
    PairSupport,
    hadamard_halves,
    independent_bits,
    one_answer,
    orthogonal_points,
    uniform_subset,
)
from rumor_shared.mechanisms.pgr import canonical_vector

P = Fraction(3, 5)
Law = dict[frozenset[int], Fraction]


def exactly_one(law: Law, a: int, b: int) -> Fraction:
    """P[a report supports exactly one of a and b]; the law is of the set of values supported."""
    return sum((chance for held, chance in law.items() if (a in held) != (b in held)), Fraction(0))


def added(outputs: Iterable[tuple[frozenset[int], Fraction]]) -> Law:
    """The law of the set of values that a report supports."""
    law: Law = {}
    for held, chance in outputs:
        law[held] = law.get(held, Fraction(0)) + chance
    assert sum(law.values()) == 1
    return law


def krr(value: int) -> Law:
    """One of 4 values."""
    return added((frozenset([v]), P if v == value else (1 - P) / 3) for v in range(4))


def unary(value: int) -> Law:
    """Four bits."""

    def chance(bits: tuple[int, ...]) -> Fraction:
        whole = Fraction(1)
        for v, bit in enumerate(bits):
            rate = P if v == value else Fraction(1, 5)
            whole *= rate if bit else 1 - rate
        return whole

    held = product((0, 1), repeat=4)
    return added((frozenset(v for v in range(4) if bits[v]), chance(bits)) for bits in held)


def subset(value: int) -> Law:
    """Sets of 2 of 5 values: 4 hold the value, 6 do not."""
    sets = [frozenset(chosen) for chosen in combinations(range(5), 2)]
    return added((held, P / 4 if value in held else (1 - P) / 6) for held in sets)


def halves(value: int) -> Law:
    """Columns of an 8 x 8 Hadamard matrix; value v stands for row v + 1."""

    def inside(v: int, column: int) -> bool:
        return ((v + 1) & column).bit_count() % 2 == 0

    outputs = []
    for column in range(8):
        held = frozenset(v for v in range(7) if inside(v, column))
        outputs.append((held, (P if value in held else 1 - P) / 4))
    return added(outputs)


def points(field: int, dimension: int) -> Callable[[int], Law]:
    """Points of a projective space; a report supports the values orthogonal to it."""
    total = (field**dimension - 1) // (field - 1)
    vectors = [canonical_vector(point, field, dimension) for point in range(total)]

    def held(output: int) -> frozenset[int]:
        other = vectors[output]
        return frozenset(
            v
            for v, mine in enumerate(vectors)
            if sum(x * y for x, y in zip(mine, other, strict=True)) % field == 0
        )

    sets = [held(output) for output in range(total)]

    def law(value: int) -> Law:
        own = sum(value in chosen for chosen in sets)
        return added(
            (chosen, P / own if value in chosen else (1 - P) / (total - own)) for chosen in sets
        )

    return law


@pytest.mark.parametrize(
    ("law", "told"),
    [
        (krr, one_answer(P, (1 - P) / 3)),
        (unary, independent_bits(P, Fraction(1, 5))),
        (subset, uniform_subset(P, (P + 2 * (1 - P)) / 4, 2, 5)),
    ],
    ids=["krr", "unary", "subset"],
)
def test_is_the_law_of_every_pair(law: Callable[[int], Law], told: PairSupport) -> None:
    """Own and other are what all outputs add up to, to the last digit."""
    assert exactly_one(law(0), 0, 1) == exactly_one(law(1), 0, 1) == told.own
    assert exactly_one(law(2), 0, 1) == exactly_one(law(3), 0, 1) == told.other


def test_two_values_have_no_other() -> None:
    """A set of one of two values names one answer."""
    q = 1 - P
    assert uniform_subset(P, q, 1, 2).own == one_answer(P, q).own


def test_hadamard_is_exact_but_for_one_value() -> None:
    """The value that tells whether the halves agree supports exactly one less often."""
    told = hadamard_halves(P)
    assert exactly_one(halves(0), 0, 1) == told.own
    # Rows 1 and 2 multiply to row 3, which is value 2.
    others = [exactly_one(halves(v), 0, 1) for v in range(2, 7)]
    assert others[1:] == [told.other] * 4
    assert others[0] == 1 - P < told.other


@pytest.mark.parametrize(("field", "dimension"), [(2, 3), (3, 3), (3, 2), (2, 4)])
def test_projective_points_are_exact_off_the_line(field: int, dimension: int) -> None:
    """Own is exact; other is that of a value off the line through both, and no value has more."""
    law = points(field, dimension)
    total = (field**dimension - 1) // (field - 1)
    q = sum((chance for held, chance in law(0).items() if 1 in held), Fraction(0))
    told = orthogonal_points(P, q, field, dimension)
    assert exactly_one(law(0), 0, 1) == told.own
    others = [exactly_one(law(v), 0, 1) for v in range(2, total)]
    assert max(others) == told.other
    assert others.count(told.other) >= total - 2 - (field - 1)
