"""Numbers as people read them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rumor_server.http.dashboard import formats
from rumor_server.http.dashboard.linking import linking_bits
from rumor_server.http.dashboard.reports_needed import POWER, reports_needed, smallest_difference
from rumor_server.http.dashboard.scale import nice_scale
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.probability import ONE, round_down


@pytest.mark.parametrize(
    ("share", "decimals", "text"),
    [
        (0.5, 1, "50.0"),
        (-0.0123, 2, "−1.23"),
        (-0.000001, 2, "0.00"),
        (0.0, 0, "0"),
        (12.5, 0, "1,250"),
    ],
)
def test_writes_shares(share: float, decimals: int, text: str) -> None:
    """Percentages have a real minus and no negative zero."""
    assert formats.percent(share, decimals) == text


@pytest.mark.parametrize(
    ("errors", "decimals"), [([], 1), ([0.0], 1), ([0.021], 0), ([0.0021], 2), ([1e-9], 4)]
)
def test_gives_as_many_digits_as_the_error(errors: list[float], decimals: int) -> None:
    """Two digits of the error's percentage, four decimals at most."""
    assert formats.decimals_for(errors) in {decimals, decimals + 1}
    assert formats.decimals_for(np.array(errors)) <= 4


def test_signs_changes() -> None:
    """A rise has its plus, and nothing has none."""
    assert formats.signed(0.021, 1) == "+2.1"
    assert formats.signed(-0.021, 1) == "−2.1"
    assert formats.signed(-1e-9, 1) == "0.0"


def test_rounds_a_loss_up() -> None:
    """What a report can reveal is never said to be less than it is."""
    for epsilon in (0.001, 0.1, 1.0, 1.5, 3.153834, 6.0, 9.7, 40.0):
        assert float(formats.epsilon_text(epsilon).replace(",", "")) >= epsilon
        said = formats.factor(epsilon).replace(",", "").replace("10^", "1e")
        assert float(said) >= math.exp(epsilon) * (1 - 1e-12)
    assert formats.certainty(1.0) == "73.2"
    assert formats.certainty(30.0) == "over 99.9"
    assert formats.probability(1e-300) == "< 0.0001"


def test_counts_the_reports_that_find_a_difference() -> None:
    """With as many reports as said, a two-sided test finds the difference four times in five.

    The power is computed exactly from the normal law; what is left out is the other tail.
    """
    alpha, n, std_error, difference = 0.05, 1000, 0.03, 0.02
    needed = reports_needed(difference, std_error, n, alpha=alpha)
    assert needed is not None
    at_needed = std_error * math.sqrt(n / needed)
    reach = difference / at_needed - 1.959963984540054
    power = 0.5 * (1 + math.erf(reach / math.sqrt(2)))
    assert power == pytest.approx(POWER, abs=1e-3)
    assert smallest_difference(at_needed, alpha=alpha) == pytest.approx(difference, rel=1e-3)
    more = reports_needed(difference, std_error, n, alpha=alpha, comparisons=10)
    assert more is not None
    assert more > needed
    assert reports_needed(0.0, std_error, n, alpha=alpha) is None
    assert reports_needed(1e-12, std_error, n, alpha=alpha) is None


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0.34), (-0.004, 0.52), (-0.3, 0.1), (0, 0), (-5, -4), (0, 1e-5), (0, 37)]
)
def test_draws_an_axis_around_all(low: float, high: float) -> None:
    """An axis holds 0 and everything on it, and has few round ticks."""
    scale = nice_scale(low, high, 6)
    assert scale.low <= min(low, 0)
    assert scale.high >= max(high, 0)
    assert 1 < len(scale.ticks) <= 6
    assert 0 in scale.ticks
    assert scale.at(scale.low) == 0
    assert scale.at(scale.high) == 100
    assert scale.at(scale.high + 1) == 100


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
