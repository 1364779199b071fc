"""How many more reports until a difference shows.

All standard errors here fall with the square root of the number of reports, whatever the mechanism,
so the measured error says what any other number of reports would give. A two-sided test at level
alpha finds a true difference d with probability `POWER` once

    std_error(N) = |d| / (z_{1 - alpha / 2m} + z_power),      std_error(N)^2 = std_error(n)^2 n / N

(m comparisons by Bonferroni; the other tail's share of the power is left out, below 10^-5 of it).
"""

from __future__ import annotations

import math

from scipy.special import ndtri

# The usual convention of study design (Cohen 1988): four in five true differences are found.
POWER = 0.8
# A thousand devices for every person on Earth: more than this is never.
_NEVER = 10**13


def reports_needed(
    difference: float, std_error: float, n: int, *, alpha: float, comparisons: int = 1
) -> int | None:
    """Return how many reports find a true `difference` with probability `POWER`.

    `std_error` is that of the estimated difference with `n` reports (of each side where two periods
    differ; the answer is for the same split). None means more than there could ever be.
    """
    if not difference:
        return None
    reach = _reach(alpha, comparisons) * std_error / abs(difference)
    needed = n * reach * reach
    return math.ceil(needed) if needed < _NEVER else None


def smallest_difference(std_error: float, *, alpha: float, comparisons: int = 1) -> float:
    """Return the true difference that is found with probability `POWER` as things stand."""
    return _reach(alpha, comparisons) * std_error


def _reach(alpha: float, comparisons: int) -> float:
    return float(-ndtri(alpha / (2 * comparisons)) + ndtri(POWER))
