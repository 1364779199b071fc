"""What an analyst is told of a metric: its rows, or how many reports are still missing.

Every revision is estimated with its own parameters; revisions of the same values are then
combined. A metric that asks for `min_reports` is withheld until that many were counted: what was
refused never counts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rumor_server.errors import BadRequest
from rumor_server.estimation import Estimates, estimate_metric
from rumor_server.estimation.combination import combine
from rumor_server.store import Store
from rumor_shared.epsilon import MICRO
from rumor_shared.errors import UnknownMetric
from rumor_shared.metric import Metric

DEFAULT_ALPHA = 0.05


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
    first_day: date | None = Field(description="first day asked for; null without a bound or data")
    last_day: date | None
    alpha: float
    revisions: list[int] = Field(description="revisions that the rows combine")
    left_out: list[int] = Field(description="revisions with other values; ask with `revision`")
    unexplained: float | None = Field(description="share of reports that no row accounts for")
    unexplained_std_error: float | None
    rows: list[Row]


def release(
    store: Store,
    name: str,
    *,
    first: date | None = None,
    last: date | None = None,
    revision: int | None = None,
    candidates: Sequence[str] | None = None,
    alpha: float = DEFAULT_ALPHA,
) -> EstimatesPage:
    """Return the estimates of metric `name` over the days from `first` to `last`, inclusive.

    Without `revision` all revisions with the values of the newest are combined. Raises
    UnknownMetric for a metric or revision that was never declared, BadRequest for candidates that
    can't be.
    """
    declared = store.revisions(name)
    metrics = [m for m in declared if revision in (None, m.revision)]
    if not metrics:
        raise UnknownMetric(name)
    newest = metrics[-1]
    alike = [m for m in metrics if m.mechanism.values == newest.mechanism.values]
    bounds = store.days(name)
    first = first or (bounds and bounds[0])
    last = last or (bounds and bounds[1])
    parts = [(m, store.tally(m, first or date.min, last or date.max)) for m in alike]
    n = sum(tally.n for _, tally in parts)
    withheld = newest.min_reports > 1 and n < newest.min_reports
    counted = [(m, tally) for m, tally in parts if tally.n] or parts[-1:]
    if withheld:
        estimates = Estimates.empty(_values(newest, candidates), alpha)
    else:
        try:
            estimates = combine(
                [estimate_metric(m, tally, candidates, alpha=alpha) for m, tally in counted]
            )
        except ValueError as error:
            raise BadRequest(400, str(error)) from None
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
        revisions=[m.revision for m, _ in counted],
        left_out=[m.revision for m in metrics if m not in alike],
        unexplained=estimates.unexplained,
        unexplained_std_error=estimates.unexplained_std_error,
        rows=[_row(newest, row, n) for row in estimates.rows()],
    )


def as_csv(page: EstimatesPage) -> str:
    """Return the rows as CSV with a header; what is null is an empty field."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(Row.model_fields))
    writer.writeheader()
    writer.writerows(row.model_dump() for row in page.rows)
    return out.getvalue()


def _values(metric: Metric, candidates: Sequence[str] | None) -> tuple[str, ...]:
    return metric.mechanism.values or tuple(candidates or ())


def _row(metric: Metric, row: dict[str, Any], n: int) -> Row:
    return Row(
        **{**row, "n": n},
        epsilon=metric.mechanism.epsilon_report / MICRO,
        mechanism=metric.mechanism.name,
        revision=metric.revision,
    )
