"""What a metric costs who answers, in numbers."""

import math
from fractions import Fraction

import pytest

from rumor_server.queries.privacy import linking_bits
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.probability import ONE, round_down


def rappor(half_f: Fraction, p: Fraction, q: Fraction, cohorts: int = 1) -> Rappor:
    """A mechanism of three bits and one hash."""
    low, high = (round_down(one) for one in (p, q))
    return Rappor("rappor", None, 3, 1, cohorts, round_down(half_f), low, min(high, ONE - 1), 1)


def test_counts_what_links_two_days() -> None:
    """Without fresh noise a permanent bit links with all its entropy, and cohorts add theirs."""
    certain = rappor(Fraction(1, 8), Fraction(0), Fraction(1))
    entropy = -(math.log2(1 / 8) / 8 + math.log2(7 / 8) * 7 / 8)
    assert linking_bits(certain) == pytest.approx(3 * entropy, abs=1e-9)
    kept = rappor(Fraction(1, 8), Fraction(0), Fraction(1), cohorts=32)
    assert linking_bits(kept) == pytest.approx(3 * entropy + 5, abs=1e-9)
    noisy = rappor(Fraction(1, 8), Fraction(1, 4), Fraction(3, 4))
    assert 0 < linking_bits(noisy) < linking_bits(certain) / 4
    assert linking_bits(rappor(Fraction(0), Fraction(1, 4), Fraction(3, 4), cohorts=32)) == 0
