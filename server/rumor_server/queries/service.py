"""What an analyst is told of a metric: its rows, or how many reports are still missing.

Every revision is estimated with its own parameters; revisions of the same values are then
combined. A metric that asks for `min_reports` is withheld until that many were counted: what was
refused never counts.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from datetime import date
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rumor_server.errors import BadRequest
from rumor_server.queries.authenticity import (
    DEFAULT_FAKE_SHARE,
    Authenticity,
    tell_authenticity,
)
from rumor_server.statistics.authenticity.report_weights import ShapeCounts
from rumor_server.statistics.estimation import Estimates
from rumor_server.statistics.estimation.combination import combine
from rumor_server.statistics.estimation.robust import Influence, influence, robust_interval
from rumor_server.statistics.mechanisms import estimate_metric
from rumor_server.storage.store import Store
from rumor_shared.epsilon import MICRO
from rumor_shared.errors import UnknownMetric
from rumor_shared.metric import Metric

DEFAULT_ALPHA = 0.05
# One false alarm in a trillion: what the laws here are computed from is not known more exactly.
LEAST_ALPHA = 1e-12

# What a spreadsheet reads as a formula, by its first character (OWASP, "CSV Injection").
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_TRUTH = {True: "true", False: "false", None: ""}


class Status(StrEnum):
    """Whether there is anything to tell."""

    OK = "ok"
    NO_DATA = "no_data"
    WITHHELD = "withheld"


class Row(BaseModel):
    """One value. Everything that is estimated is null where there is no data, or it is withheld."""

    model_config = ConfigDict(frozen=True)

    value: str
    estimate: float | None = Field(description="debiased number of reports; may be negative")
    frequency: float | None = Field(description="share of 1, unbiased; may lie outside [0, 1]")
    std_error: float | None = Field(description="of the frequency")
    low: float | None = Field(description="holds this truth with probability 1 - alpha")
    high: float | None
    simultaneous_low: float | None = Field(description="hold all truths with probability 1 - alpha")
    simultaneous_high: float | None
    robust_low: float | None = Field(
        description="hold the truth of honest devices although `fake_share` of the reports are "
        "fakes; null where a regression decodes"
    )
    robust_high: float | None
    p_value: float | None = Field(description="of so many reports where nobody has the value")
    significant: bool | None = Field(description="present, with Bonferroni's correction at alpha")
    n: int = Field(description="reports counted")
    epsilon: float = Field(description="of one report")
    mechanism: str
    revision: int


class EstimatesPage(BaseModel):
    """The estimates of one metric over some days."""

    model_config = ConfigDict(frozen=True)

    metric: str
    question: str
    status: Status
    n: int = Field(description="reports counted")
    min_reports: int
    missing: int = Field(description="reports still missing before release; else 0")
    first_day: date | None = Field(
        description="first day asked for, else the first with a report; null where there is none "
        "up to `last_day`"
    )
    last_day: date | None = Field(
        description="last day asked for, else the last with a report; null where there is none "
        "from `first_day` on"
    )
    alpha: float
    fake_share: float = Field(description="share of fakes that the robust bounds allow for")
    revisions: list[int] = Field(description="revisions that the rows combine")
    left_out: list[int] = Field(description="revisions with other values; ask with `revision`")
    unexplained: float | None = Field(description="share of reports that no row accounts for")
    unexplained_std_error: float | None
    authenticity: list[Authenticity] = Field(
        description="by revision; empty where there is no data, or it is withheld"
    )
    row_count: int = Field(description="rows there are; `rows` holds those from `offset` on")
    rows: list[Row]

    def part(self, offset: int, limit: int | None) -> EstimatesPage:
        """Return the page with at most `limit` of its rows, from row number `offset` on."""
        end = None if limit is None else offset + limit
        return self.model_copy(update={"rows": self.rows[offset:end]})


Shapes = Callable[[Metric, date, date], ShapeCounts]


def _no_shapes(metric: Metric, first: date, last: date) -> ShapeCounts:
    return ShapeCounts()


def release(
    store: Store,
    name: str,
    *,
    first: date | None = None,
    last: date | None = None,
    revision: int | None = None,
    candidates: Sequence[str] | None = None,
    alpha: float = DEFAULT_ALPHA,
    shapes: Shapes = _no_shapes,
    fake_share: float = DEFAULT_FAKE_SHARE,
) -> EstimatesPage:
    """Return the estimates of metric `name` over the days from `first` to `last`, inclusive.

    Without `revision` all revisions with the values of the newest are combined. `shapes` knows the
    weights of reports; `fake_share` is the share of fakes whose effect is told and which the robust
    bounds allow for, among the reports of each revision. Raises UnknownMetric for a metric or
    revision that was never declared, BadRequest for an alpha or candidates that can't be.
    """
    declared = store.revisions(name)
    metrics = [m for m in declared if revision in (None, m.revision)]
    if not metrics:
        raise UnknownMetric(name)
    newest = metrics[-1]
    alike = [m for m in metrics if m.mechanism.values == newest.mechanism.values]
    if not LEAST_ALPHA <= alpha < 1:
        raise BadRequest(f"alpha: is not from {LEAST_ALPHA:g} to 1; give for example 0.05")
    bounds = store.days(name)
    first, last = _bounded(bounds, first, last)
    span = first or date.min, last or date.max
    parts = [(m, store.tally(m, *span)) for m in alike]
    n = sum(tally.n for _, tally in parts)
    days = _days(bounds, first, last)
    withheld = newest.min_reports > 1 and n < newest.min_reports
    counted = [(m, tally) for m, tally in parts if tally.n] or parts[-1:]
    if withheld:
        estimates = Estimates.empty(_values(newest, candidates), alpha)
    else:
        try:
            estimates = combine(
                [
                    estimate_metric(
                        m, tally, candidates, alpha=alpha, repeats=most_reports(m, days, tally.n)
                    )
                    for m, tally in counted
                ]
            )
        except ValueError as error:
            raise BadRequest(str(error)) from None
    most = influence([m.mechanism for m, _ in counted])
    status = Status.WITHHELD if withheld else Status.OK if n else Status.NO_DATA
    return EstimatesPage(
        metric=name,
        question=newest.question,
        status=status,
        n=n,
        min_reports=newest.min_reports,
        missing=max(newest.min_reports - n, 0) if withheld else 0,
        first_day=first,
        last_day=last,
        alpha=alpha,
        fake_share=fake_share,
        revisions=[m.revision for m, _ in counted],
        left_out=[m.revision for m in metrics if m not in alike],
        unexplained=estimates.unexplained,
        unexplained_std_error=estimates.unexplained_std_error,
        authenticity=[
            tell_authenticity(
                m, tally, shapes(m, *span), most_reports(m, days, tally.n), fake_share
            )
            for m, tally in counted
            if tally.n and not withheld
        ],
        row_count=len(estimates.values),
        rows=[_row(newest, row, n, fake_share, most) for row in estimates.rows()],
    )


def most_reports(metric: Metric, days: int, n: int) -> int:
    """Return how many of `n` counted reports over `days` days one device can have made.

    No more on a day than the metric's daily epsilon pays for, and at least 1.
    """
    a_day = metric.daily_epsilon // metric.mechanism.epsilon_report
    return max(1, min(days * a_day, n))


def as_csv(page: EstimatesPage) -> str:
    """Return the rows as CSV with a header; what is null is an empty field.

    A value that a spreadsheet would run as a formula is defused; see `defused`. Truth is written
    `true` and `false`: polars and R's `readr` take no other spelling for a boolean.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, list(Row.model_fields))
    writer.writeheader()
    writer.writerows(
        row.model_dump() | {"value": defused(row.value), "significant": _TRUTH[row.significant]}
        for row in page.rows
    )
    return out.getvalue()


def defused(text: str) -> str:
    """Return `text`, after an apostrophe if a spreadsheet would take it for a formula.

    That is text which begins with = + - @, a tab or a line end and isn't a plain number. Text that
    already has apostrophes before such a beginning gets one more, so that two values never become
    one and taking one away gives the value back. All other text is unchanged.
    """
    return "'" + text if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _bounded(
    bounds: tuple[date, date] | None, first: date | None, last: date | None
) -> tuple[date | None, date | None]:
    """Return the days asked for; what isn't said ends with the data, or is open beyond them."""
    if bounds is None:
        return first, last
    if first is None and (last is None or last >= bounds[0]):
        first = bounds[0]
    if last is None and (first is None or first <= bounds[1]):
        last = bounds[1]
    return first, last


def _days(bounds: tuple[date, date] | None, first: date | None, last: date | None) -> int:
    """Return how many days the asked span shares with the days that have data."""
    if bounds is None or first is None or last is None:
        return 0
    return max((min(last, bounds[1]) - max(first, bounds[0])).days + 1, 0)


def _values(metric: Metric, candidates: Sequence[str] | None) -> tuple[str, ...]:
    return metric.mechanism.values or tuple(candidates or ())


def _row(
    metric: Metric, row: dict[str, Any], n: int, fake_share: float, most: Influence | None
) -> Row:
    robust: tuple[float | None, float | None] = (None, None)
    if most is not None and row["low"] is not None:
        robust = robust_interval(row["low"], row["high"], fake_share, most)
    return Row(
        **{**row, "n": n},
        robust_low=robust[0],
        robust_high=robust[1],
        epsilon=metric.mechanism.epsilon_report / MICRO,
        mechanism=metric.mechanism.name,
        revision=metric.revision,
    )
