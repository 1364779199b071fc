"""Which value is commoner than which: ranks with confidence, one error rate for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rumor_server.queries.cache import Measured
from rumor_server.queries.question import LeftOut, Population, Question, Status, most_reports
from rumor_server.queries.rows import Scope, as_csv
from rumor_server.statistics.estimation.contrasts import MOST_VALUES, pairwise_p_values
from rumor_server.statistics.estimation.ranks import (
    Ranks,
    ranks_of_intervals,
    simultaneous_ranks,
)
from rumor_server.statistics.mechanisms.answers import pairs_of
from rumor_server.statistics.tally import Tally
from rumor_shared.metric import Metric


class RankMethod(StrEnum):
    """By what an order is confirmed."""

    PAIRS = "pairs"
    """All pairs of values are tested, with Holm's correction."""
    INTERVALS = "intervals"
    """Simultaneous intervals that lie apart: wider, for any mechanism and several revisions."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Ranks, and by what they are confirmed."""

    method: RankMethod
    ranks: Ranks


class RankRow(BaseModel):
    """One value. Everything that is estimated is null where there is no data, or it is withheld."""

    model_config = ConfigDict(frozen=True)

    value: str
    best_rank: int | None = Field(
        description="1 is the commonest; the ranks of all values lie in their bounds at once, with "
        "probability 1 - alpha"
    )
    worst_rank: int | None
    frequency: float | None = Field(description="share of 1, unbiased; may lie outside [0, 1]")
    simultaneous_low: float | None = Field(description="hold all truths with probability 1 - alpha")
    simultaneous_high: float | None
    n: int = Field(description="reports counted")


class RanksPage(BaseModel):
    """The ranks of one metric's values over some days, the highest estimate first."""

    model_config = ConfigDict(frozen=True)

    metric: str
    question: str
    status: Status
    n: int = Field(description="reports counted")
    min_reports: int
    missing: int = Field(description="reports still missing before release; 0 otherwise")
    first_day: date | None
    last_day: date | None
    alpha: float = Field(description="probability that any stated bound of a rank is wrong")
    revisions: list[int] = Field(description="revisions that the rows combine")
    left_out: list[int] = Field(description="revisions with other values; ask with `revision`")
    left_out_reports: list[LeftOut]
    population: Population = Field(description="what shares are shares of")
    method: RankMethod | None = Field(
        description="`pairs` tests all pairs of values; `intervals` compares simultaneous "
        "intervals, where reports don't support values one by one or revisions are combined; null "
        "without numbers"
    )
    row_count: int = Field(description="rows there are; `rows` holds those from `offset` on")
    rows: list[RankRow]

    @property
    def scope(self) -> Scope:
        """What the rows speak of."""
        return Scope(
            self.status,
            self.first_day,
            self.last_day,
            self.population,
            self.revisions,
            self.left_out_reports,
        )


def ranks_of(
    measured: Measured, tallies: Sequence[tuple[Metric, Tally]], days: int
) -> Ranked | None:
    """Return the ranks of an answer's values; None where it has no numbers.

    `tallies` are those with reports, over `days` days with data.
    """
    answer = measured.answer
    if measured.status is not Status.OK or not measured.values:
        return None
    if len(tallies) == 1 and len(measured.values) <= MOST_VALUES:
        metric, tally = tallies[0]
        pairs = pairs_of(metric, tally, repeats=most_reports(metric, days, tally.n))
        if pairs is not None:
            tests = pairwise_p_values(pairs.counts, tally.n, pairs.law, alpha=answer.alpha)
            return Ranked(RankMethod.PAIRS, simultaneous_ranks(tests, answer.alpha))
    apart = ranks_of_intervals(answer.simultaneous_low, answer.simultaneous_high, answer.alpha)
    return Ranked(RankMethod.INTERVALS, apart)


def rank_rows(measured: Measured, ranked: Ranked | None) -> list[RankRow]:
    """Return a row a value, the highest estimate first."""
    if ranked is None:
        return [
            RankRow(
                value=value,
                best_rank=None,
                worst_rank=None,
                frequency=None,
                simultaneous_low=None,
                simultaneous_high=None,
                n=measured.n,
            )
            for value in measured.values
        ]
    answer, ranks = measured.answer, ranked.ranks
    return [
        RankRow(
            value=measured.values[i],
            best_rank=int(ranks.best[i]),
            worst_rank=int(ranks.worst[i]),
            frequency=float(answer.frequency[i]),
            simultaneous_low=float(answer.simultaneous_low[i]),
            simultaneous_high=float(answer.simultaneous_high[i]),
            n=measured.n,
        )
        for i in np.argsort(-answer.frequency, kind="stable").tolist()
    ]


def ranks_page(
    question: Question,
    measured: Measured,
    first: date | None,
    last: date | None,
    ranked: Ranked | None,
) -> RanksPage:
    """Return all that is told of the ranks of an answer."""
    newest = question.newest
    return RanksPage(
        metric=newest.name,
        question=newest.question,
        status=measured.status,
        n=measured.n,
        min_reports=newest.min_reports,
        missing=measured.missing,
        first_day=first,
        last_day=last,
        alpha=question.alpha,
        revisions=list(measured.revisions) or [newest.revision],
        left_out=[metric.revision for metric in question.left_out],
        left_out_reports=list(measured.left_out),
        population=measured.population,
        method=None if ranked is None else ranked.method,
        row_count=len(measured.values),
        rows=rank_rows(measured, ranked),
    )


def ranks_csv(page: RanksPage) -> str:
    """Return the rows as CSV, each with what it speaks of."""
    said = {**page.scope.columns, "method": "" if page.method is None else str(page.method)}
    return as_csv([*RankRow.model_fields, *said], (row.model_dump() | said for row in page.rows))
