"""What changed between two periods, value by value, and how many reports would settle it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor_server.queries.cache import Measured
from rumor_server.queries.question import Status
from rumor_server.queries.reports_needed import reports_needed
from rumor_server.statistics.estimation.comparison import Of, compare

__all__ = ["ChangeRow", "Of", "change_rows"]


@dataclass(frozen=True)
class ChangeRow:
    """One value: shares of 1 before and after, and the change with its interval.

    `reports_needed` is how many reports each period needs to find a change of this size.
    """

    value: str
    before: float
    after: float
    difference: float
    std_error: float
    low: float
    high: float
    p_value: float
    significant: bool
    reports_needed: int | None


def change_rows(before: Measured, after: Measured, of: Of) -> tuple[ChangeRow, ...] | None:
    """Return the changes, the largest rise first; None where a period has nothing to compare.

    `of` says whether the population or these very devices are asked about.
    """
    if before.status is not Status.OK or after.status is not Status.OK:
        return None
    change = compare(before.answer, after.answer, of=of)
    # Of one report each side: the error of the change were n 1 before and after.
    of_one_report = np.hypot(
        change.before.std_error * math.sqrt(before.n),
        change.after.std_error * math.sqrt(after.n),
    ).tolist()
    many = max(before.answer.tests, after.answer.tests)
    rows = [
        ChangeRow(
            value=value,
            before=b,
            after=a,
            difference=difference,
            std_error=std_error,
            low=low,
            high=high,
            p_value=p_value,
            significant=significant,
            reports_needed=reports_needed(
                difference, single, 1, alpha=change.alpha, comparisons=many
            ),
        )
        for value, b, a, difference, std_error, low, high, p_value, significant, single in zip(
            change.values,
            before.answer.frequency.tolist(),
            after.answer.frequency.tolist(),
            change.difference.tolist(),
            change.std_error.tolist(),
            change.low.tolist(),
            change.high.tolist(),
            change.p_value.tolist(),
            change.significant.tolist(),
            of_one_report,
            strict=True,
        )
    ]
    return tuple(sorted(rows, key=lambda row: -row.difference))
