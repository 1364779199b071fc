"""How much some reports can say: from how many on an interval is narrow, and whom it speaks of."""

from __future__ import annotations

import math
from enum import StrEnum

from scipy.special import ndtri

from rumor_server.planner.accuracy import Accuracy
from rumor_server.queries.cache import Measured
from rumor_server.queries.question import Population, Question, most_reports

# An interval of 20 points is the widest that still tells a common value from a rare one.
TELLING = 0.1
# One of 100 points holds every share there is, so it tells nothing: a 25th of the reports.
_NOTHING = 0.5


def reports_for(question: Question, half_width: float = TELLING) -> int | None:
    """Return from about how many reports on the interval of a share reaches so far to each side.

    For a share of a half, in two digits, as if each report came from a device of its own; where a
    regression decodes it takes more. None where reports don't support values one by one.
    """
    pair = question.newest.mechanism.support()
    if pair is None:
        return None
    accuracy = Accuracy(*pair)
    reach = float(-ndtri(question.alpha / 2)) / half_width
    needed = reach * reach * accuracy.variance(0.5)
    digit: int = 10 ** max(math.floor(math.log10(needed)) - 1, 0)
    return math.ceil(needed / digit) * digit


def too_few(question: Question, n: int) -> bool:
    """Return whether intervals from `n` reports are so wide that they say nothing."""
    least = reports_for(question, _NOTHING)
    return least is not None and 0 < n < least


class Unexplained(StrEnum):
    """What the share that no row of an open domain accounts for means for the candidates."""

    WITHIN_NOISE = "within_noise"
    """The list may well hold every value there is."""
    VALUES_MISSING = "values_missing"
    """More than noise: there are values that are not in the list."""
    NOTHING_MATCHES = "nothing_matches"
    """As good as no report is of the list, and a share above 1 is noise: they may be misspelt."""
    COUNTED_TWICE = "counted_twice"
    """Below 0 by more than noise: candidates share bits, or are too many for so few reports."""


def unexplained_means(measured: Measured) -> Unexplained | None:
    """Return what the unexplained share means, by three standard errors; None where there is none.

    No share can lie outside 0 to 1, and the estimate can: by noise, or as told.
    """
    if measured.unexplained is None:
        return None
    share, error = measured.unexplained
    if share > 3 * error:
        return Unexplained.NOTHING_MATCHES if share > 1 - 3 * error else Unexplained.VALUES_MISSING
    return Unexplained.COUNTED_TWICE if share < -3 * error else Unexplained.WITHIN_NOISE


def population_of(question: Question, days: int) -> Population:
    """Return what shares over so many days with data speak of."""
    once = days <= 1 and all(most_reports(m, 1, 2) == 1 for m in question.metrics)
    return Population.DEVICES if once else Population.REPORTS
