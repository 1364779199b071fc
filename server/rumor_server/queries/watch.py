"""Watching every day: bounds of the running shares that hold on all days together.

A watch begins with the first day of the newest revision and has no other window: one that was
chosen after looking would be wrong more often than it says. Days that still take reports may
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rumor_server.errors import BadRequest
from rumor_server.queries.question import Population, Question, Status
from rumor_server.queries.rows import as_csv
from rumor_server.statistics.estimation.daily_watch import (
    Watch,
    WatchError,
    watch_counts,
    watch_estimates,
)
from rumor_server.statistics.mechanisms.answers import estimate_metric, pairs_of
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric


class WatchRow(BaseModel):
    """One value up to one day; the first day is the one on which enough was counted to be shown."""

    model_config = ConfigDict(frozen=True)

    day: date
    value: str
    n: int = Field(description="reports counted up to this day")
    frequency: float = Field(description="share of 1 of all reports up to this day")
    low: float = Field(
        description="hold the truths of all values on all days with probability 1 - alpha"
    )
    high: float


class WatchPage(BaseModel):
    """The running shares of one metric's newest revision, by day and then by value."""

    model_config = ConfigDict(frozen=True)

    metric: str
    question: str
    status: Status
    n: int = Field(description="reports counted")
    min_reports: int
    missing: int = Field(description="reports still missing before release; 0 otherwise")
    first_day: date | None = Field(description="first day with a report of this revision")
    last_day: date | None
    alpha: float
    revision: int
    population: Population = Field(description="what shares are shares of: always reports")
    asymptotic: bool | None = Field(
        description="whether bounds hold in the limit of many reports (a regression decodes), "
        "rather than for any number; null without numbers"
    )
    row_count: int = Field(description="rows there are; `rows` holds those from `offset` on")
    rows: list[WatchRow]


def check_watched(metric: Metric) -> None:
    """Raise BadRequest for a metric that no bound can watch."""
    if metric.mechanism.memoised:
        raise BadRequest(
            "metric: it is memoised, so its devices repeat their noise and no bound holds on all "
            "days; compare periods instead"
        )


def watch_of(
    metric: Metric, tallies: Sequence[Tally], candidates: Sequence[str] | None, alpha: float
) -> Watch:
    """Return the bounds of each day, from the tally of each day. Raises BadRequest."""
    reports = np.array([tally.n for tally in tallies], dtype=np.int64)
    pairs = [pairs_of(metric, tally) for tally in tallies]
    known = [one for one in pairs if one is not None]
    try:
        if len(known) == len(tallies):
            counts, law = np.stack([one.counts for one in known]), known[0].law
            return watch_counts(counts, reports, law.p, law.q, alpha=alpha, memoised=False)
        answers = [estimate_metric(metric, one, candidates, alpha=alpha) for one in tallies]
        k = len(answers[0].values)
        shares, variances = np.zeros((len(answers), k)), np.zeros((len(answers), k))
        for i, answer in enumerate(answers):
            if answer.n:
                shares[i], variances[i] = answer.frequency, np.square(answer.std_error)
        return watch_estimates(shares, variances, reports, alpha=alpha, memoised=False)
    except (ValueError, WatchError) as error:
        raise BadRequest(str(error)) from None


def watch_page(
    question: Question,
    status: Status,
    n: int,
    missing: int,
    first: date | None,
    watch: Watch | None,
) -> WatchPage:
    """Return all that is told of a watch that began on `first`."""
    newest = question.newest
    rows = [] if watch is None or first is None else _rows(question, first, watch)
    return WatchPage(
        metric=newest.name,
        question=newest.question,
        status=status,
        n=n,
        min_reports=newest.min_reports,
        missing=missing,
        first_day=first,
        last_day=rows[-1].day if rows else first,
        alpha=question.alpha,
        revision=newest.revision,
        population=Population.REPORTS,
        asymptotic=None if watch is None else watch.asymptotic,
        row_count=len(rows),
        rows=rows,
    )


def _rows(question: Question, first: date, watch: Watch) -> list[WatchRow]:
    least = max(1, question.newest.min_reports)
    rows = []
    for i, n in enumerate(watch.reports.tolist()):
        # A day before the release would tell what was withheld on it.
        if n < least:
            continue
        for j, value in enumerate(question.values):
            rows.append(
                WatchRow(
                    day=first + timedelta(days=i),
                    value=value,
                    n=n,
                    frequency=float(watch.frequency[i, j]),
                    low=float(watch.low[i, j]),
                    high=float(watch.high[i, j]),
                )
            )
    return rows


def watch_csv(page: WatchPage) -> str:
    """Return the rows as CSV, each with what it speaks of."""
    said = {
        "status": str(page.status),
        "alpha": page.alpha,
        "revision": page.revision,
        "population": str(page.population),
        "asymptotic": page.asymptotic,
    }
    return as_csv([*WatchRow.model_fields, *said], (row.model_dump() | said for row in page.rows))
