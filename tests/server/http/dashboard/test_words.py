"""Numbers as people read them."""

import math

import numpy as np
import pytest

from rumor_server.http.dashboard import formats
from rumor_server.http.dashboard.bar_chart import nice_scale


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
