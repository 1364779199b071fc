"""How many more reports until a difference shows."""

import math

import pytest

from rumor_server.queries.reports_needed import POWER, reports_needed, smallest_difference


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
