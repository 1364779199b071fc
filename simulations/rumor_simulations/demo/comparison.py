"""Estimates beside the truth: which intervals hold it, and how likely so few or many would be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# The intervals that the collector gives are pointwise 95% ones (design, section 9).
COVERAGE = 0.95
# Rarer than this is a fault and not bad luck: the false-alarm rate that the house's tests keep.
FALSE_ALARM = 1e-6
# What the demo promises of its open metric: the commonest found this near, and few absent ones.
COMMONEST = 5
NEAR = 4.0


@dataclass(frozen=True)
class Row:
    """One value of a metric. Truth, estimate, error and bounds are shares of 1."""

    value: str
    truth: float
    estimate: float
    std_error: float
    low: float
    high: float
    significant: bool

    @property
    def holds(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high

    @property
    def z(self) -> float:
        """How many standard errors the estimate is above the truth; 0 where both agree exactly."""
        gap = self.estimate - self.truth
        if self.std_error:
            return gap / self.std_error
        return math.copysign(math.inf, gap) if gap else 0.0


@dataclass(frozen=True)
class Coverage:
    """How many of `intervals` hold the truth."""

    hits: int
    intervals: int

    @cached_property
    def probability(self) -> float:
        """Two-sided probability of a count this unlikely if each holds it with 95%; 1 for none."""
        if not self.intervals:
            return 1.0
        from scipy.stats import binomtest  # a second that the demo starts without

        return float(binomtest(self.hits, self.intervals, COVERAGE).pvalue)

    def __add__(self, other: Coverage) -> Coverage:
        """Return the coverage of both sets of intervals."""
        return Coverage(self.hits + other.hits, self.intervals + other.intervals)


@dataclass(frozen=True)
class Comparison:
    """One metric: what the devices recorded beside what the collector says."""

    name: str
    mechanism: str
    epsilon: float
    reports: int
    open_domain: bool
    rows: tuple[Row, ...]

    @property
    def coverage(self) -> Coverage:
        """How many intervals hold the truth; two answers mirror each other and count once."""
        independent = self.rows[1:] if len(self.rows) == 2 else self.rows
        return Coverage(sum(row.holds for row in independent), len(independent))

    @property
    def commonest(self) -> tuple[Row, ...]:
        """The five values that most devices hold, the commonest first."""
        return tuple(sorted(self.rows, key=lambda row: -row.truth)[:COMMONEST])

    @property
    def found(self) -> tuple[Row, ...]:
        """The values that the collector marks as significant, Bonferroni at 5%."""
        return tuple(row for row in self.rows if row.significant)

    @property
    def found_absent(self) -> tuple[Row, ...]:
        """The values marked as significant that no device holds."""
        return tuple(row for row in self.found if row.truth == 0)

    def as_json(self) -> dict[str, Any]:
        """Return the metric as `rumor demo --json` prints it."""
        columns = ("value", "truth", "estimate", "std_error", "low", "high")
        return {
            "name": self.name,
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            "reports": self.reports,
            "rows": [{column: getattr(row, column) for column in columns} for row in self.rows],
        }


def compare(estimates: Sequence[Mapping[str, Any]], recorded: Mapping[str, int]) -> tuple[Row, ...]:
    """Put the collector's rows beside the counts of what the devices recorded.

    `recorded` counts devices by value; a value without a count has truth 0. Raises ValueError if
    there are no reports, since no share of nothing is a truth.
    """
    total = sum(recorded.values())
    if not total:
        raise ValueError("no device recorded an answer, so there is no truth to compare with")
    return tuple(
        Row(
            value=row["value"],
            truth=recorded.get(row["value"], 0) / total,
            estimate=row["frequency"],
            std_error=row["std_error"],
            low=row["low"],
            high=row["high"],
            significant=row["significant"],
        )
        for row in estimates
    )


def find_faults(
    acknowledged: Mapping[str, int], comparisons: Sequence[Comparison]
) -> tuple[str, ...]:
    """Return what can't be bad luck: reports lost or counted twice, intervals that miss too often.

    `acknowledged` counts, for each metric, the reports that the collector said it accepted.
    """
    faults = [
        f"{comparison.name}: {acknowledged.get(comparison.name, 0):,} reports were acknowledged, "
        f"{comparison.reports:,} are counted"
        for comparison in comparisons
        if comparison.reports != acknowledged.get(comparison.name, 0)
    ]
    coverage = sum((comparison.coverage for comparison in comparisons), Coverage(0, 0))
    # Exact intervals of a handful of devices hold the truth more often than they say.
    too_few = coverage.hits < COVERAGE * coverage.intervals
    if too_few and coverage.probability < FALSE_ALARM:
        faults.append(
            f"{coverage.hits:,} of {coverage.intervals:,} intervals hold the truth: "
            f"95% ones do so with probability {coverage.probability:.1g}"
        )
    return tuple(faults)
