"""How many more reports until a difference shows.

All standard errors here fall with the square root of the number of reports, whatever the mechanism,
so the measured error says what any other number of reports would give. A two-sided test at level
alpha finds a true difference d with probability `POWER` once

    std_error(N) = |d| / (z_{1 - alpha / 2m} + z_power),      std_error(N)^2 = std_error(n)^2 n / N

(m comparisons by Bonferroni; the other tail's share of the power is left out, below 10^-5 of it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

from rumor_server.queries.cache import Measured
from rumor_server.queries.question import Question, Status
from rumor_server.statistics.estimation.comparison import Of, spread

# The usual convention of study design (Cohen 1988): four in five true differences are found.
POWER = 0.8
# A thousand devices for every person on Earth: more than this is never.
_NEVER = 10**13
# Two percentage points: what most people mean by "a difference", until they say another.
USUAL_DIFFERENCE = 0.02


@dataclass(frozen=True)
class Resolution:
    """What the reports of a period can tell apart, for one value.

    `difference` is a change between two periods, `needed` the reports that each of them needs to
    show it and None where that is never; `smallest` the change that two periods like this one show;
    `reports_a_day` the present rate, and None where devices repeat their noise: more days of the
    same devices don't help there. Shares of 1.
    """

    value: str
    difference: float
    needed: int | None
    smallest: float
    reports_a_day: float | None

    def missing(self, n: int) -> int:
        """Return how many more reports this period needs, for a difference that can show."""
        return max((self.needed or 0) - n, 0)

    def days(self, n: int) -> int | None:
        """Return how many more days that takes at the present rate."""
        return math.ceil(self.missing(n) / self.reports_a_day) if self.reports_a_day else None


def resolution_of(
    question: Question, measured: Measured, value: str, difference: float, days: int
) -> Resolution | None:
    """Return what two periods like the `days` that were measured can tell apart of a value's share.

    None where nothing is told of the period.
    """
    if measured.status is not Status.OK:
        return None
    around = spread(measured.answer, Of.POPULATION)
    error = float(around.std_error[measured.values.index(value)])
    # Two periods like this one: the error of a change is the root of 2 times that of a share.
    of_change = math.sqrt(2) * error
    return Resolution(
        value=value,
        difference=difference,
        needed=reports_needed(difference, of_change, measured.n, alpha=question.alpha),
        smallest=smallest_difference(of_change, alpha=question.alpha),
        reports_a_day=None if question.newest.mechanism.memoised else measured.n / days,
    )


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
