"""An answer as rows, as CSV and as a JSON page: one form for API, pages, commands and reader."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rumor_server.queries.authenticity import Authenticity
from rumor_server.queries.cache import Measured
from rumor_server.queries.candidate_lists import OddCandidate
from rumor_server.queries.precision import Unexplained
from rumor_server.queries.question import LeftOut, Population, Question, Status
from rumor_server.statistics.estimates import Answer, Floats
from rumor_server.statistics.estimation import norm_sub
from rumor_server.statistics.estimation.robust import Influence, influence, robust_interval
from rumor_shared.epsilon import MICRO

# What a spreadsheet reads as a formula, by its first character (OWASP, "CSV Injection").
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


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
    post_processed: float | None = Field(
        description="nearest share that is one: not below 0, and 1 together with all others"
    )
    possible_low: float | None = Field(description="the interval, within what a share can be")
    possible_high: float | None


class EstimatesPage(BaseModel):
    """The estimates of one metric over some days."""

    model_config = ConfigDict(frozen=True)

    metric: str
    question: str
    status: Status
    n: int = Field(
        description="reports counted; withheld, it is rounded down to tenths of `min_reports`"
    )
    min_reports: int
    min_new_reports: int = Field(
        description="by how many reports two answers about a day that is still open differ at least"
    )
    missing: int = Field(
        description="reports still missing before release, in tenths of `min_reports`; else 0"
    )
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
    left_out_reports: list[LeftOut] = Field(
        description="of these days, by revision: not in `n`, since their values differ"
    )
    since: date | None = Field(description="first day with a report of the revisions in the rows")
    population: Population = Field(description="what shares are shares of")
    follows: int | None = Field(
        description="how many different values of a device are followed: beyond them a change of "
        "its answer is not seen; null where each report has fresh noise"
    )
    reports_for_10_points: int | None = Field(
        description="from about so many reports on, an interval is within 10 points of a share"
    )
    unexplained: float | None = Field(description="share of reports that no row accounts for")
    unexplained_std_error: float | None
    unexplained_means: Unexplained | None = Field(description="for the candidates; see the words")
    odd_candidates: list[OddCandidate] = Field(
        description="candidates that may match nothing by the way they are written, the first few"
    )
    authenticity: list[Authenticity] = Field(
        description="by revision; empty where there is no data, or it is withheld"
    )
    row_count: int = Field(description="rows there are; `rows` holds those from `offset` on")
    headline: str | None = Field(
        description="the result in one sentence, of all values at once; null without numbers"
    )
    rows: list[Row]

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

    def with_rows(self, rows: list[Row]) -> EstimatesPage:
        """Return the page with some of its rows."""
        return self.model_copy(update={"rows": rows})


def rows_of(
    question: Question,
    measured: Measured,
    chosen: Sequence[int] | None = None,
    *,
    fake_share: float,
) -> list[Row]:
    """Return the rows of an answer, or those at the indices `chosen`, in that order."""
    about: dict[str, Any] = {
        "n": measured.n,
        "epsilon": question.newest.mechanism.epsilon_report / MICRO,
        "mechanism": question.newest.mechanism.name,
        "revision": question.newest.revision,
    }
    indices = list(range(len(measured.values))) if chosen is None else list(chosen)
    if measured.status is not Status.OK:
        unknown: dict[str, Any] = dict.fromkeys(set(Row.model_fields) - about.keys() - {"value"})
        return [Row(value=measured.values[i], **unknown, **about) for i in indices]
    counted = [m.mechanism for m in question.metrics if m.revision in measured.revisions]
    columns = _columns(measured.answer, measured.n, indices)
    columns |= _robust(columns["low"], columns["high"], fake_share, influence(counted))
    return [
        Row(value=measured.values[i], **dict(zip(columns, numbers, strict=True)), **about)
        for i, *numbers in zip(indices, *columns.values(), strict=True)
    ]


def _columns(answer: Answer, n: int, indices: list[int]) -> dict[str, list[Any]]:
    chosen = np.array(indices, dtype=np.intp)
    low, high = answer.low[chosen], answer.high[chosen]
    return {
        "estimate": (answer.frequency[chosen] * n).tolist(),
        "frequency": answer.frequency[chosen].tolist(),
        "std_error": answer.std_error[chosen].tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "simultaneous_low": answer.simultaneous_low[chosen].tolist(),
        "simultaneous_high": answer.simultaneous_high[chosen].tolist(),
        "p_value": answer.p_value[chosen].tolist(),
        "significant": answer.significant[chosen].tolist(),
        "post_processed": post_processed(answer)[chosen].tolist(),
        "possible_low": np.clip(low, 0, 1).tolist(),
        "possible_high": np.clip(high, 0, 1).tolist(),
    }


def _robust(
    low: list[float], high: list[float], fake_share: float, most: Influence | None
) -> dict[str, list[Any]]:
    if most is None:
        return {"robust_low": [None] * len(low), "robust_high": [None] * len(low)}
    bounds = [robust_interval(a, b, fake_share, most) for a, b in zip(low, high, strict=True)]
    return {"robust_low": [a for a, _ in bounds], "robust_high": [b for _, b in bounds]}


def post_processed(answer: Answer) -> Floats:
    """Return the nearest shares that are shares: not below 0, and 1 together (Norm-Sub).

    What no candidate of an open domain explains takes part as a value of its own, so that a short
    list is not blown up to 1.
    """
    if answer.unexplained is None:
        return norm_sub(answer.frequency)
    rest = max(answer.unexplained, 0.0)
    return norm_sub(np.append(answer.frequency, rest))[:-1]


def order_of(
    measured: Measured, column: str = "frequency", *, down: bool = True, find: str = ""
) -> list[int]:
    """Return the indices of the values that hold the text `find`, sorted by a column of their rows.

    Without numbers, all but values stay in the order of the registry or the candidates.
    """
    values = measured.values
    order = list(range(len(values)))
    if column == "value":
        order.sort(key=lambda i: values[i].casefold(), reverse=down)
    elif measured.status is Status.OK:
        answer = measured.answer
        keys = post_processed(answer) if column == "post_processed" else getattr(answer, column)
        order = np.argsort(-keys if down else keys, kind="stable").tolist()
    if find:
        wanted = find.casefold()
        order = [i for i in order if wanted in values[i].casefold()]
    return order


def commonest(measured: Measured, many: int) -> tuple[str, ...]:
    """Return the values with the highest estimates, the highest first."""
    return tuple(measured.values[i] for i in order_of(measured)[:many])


def write(
    page: EstimatesPage, question: Question, measured: Measured, chosen: Sequence[int], in_csv: bool
) -> bytes:
    """Return a page with the rows at the indices `chosen`, as JSON or as CSV."""
    rows = rows_of(question, measured, chosen, fake_share=page.fake_share)
    if in_csv:
        return rows_csv(rows, page.scope).encode()
    return page.with_rows(rows).model_dump_json().encode()


@dataclass(frozen=True)
class Scope:
    """What rows speak of: a table that is cut out of its page still says so in each row."""

    status: Status
    first_day: date | None
    last_day: date | None
    population: Population
    revisions: Sequence[int]
    left_out: Sequence[LeftOut]

    @property
    def columns(self) -> dict[str, Any]:
        """The columns beside those of a row; several revisions are set apart by blanks."""
        return {
            "status": str(self.status),
            "first_day": self.first_day,
            "last_day": self.last_day,
            "population": str(self.population),
            "revisions": " ".join(map(str, self.revisions)),
            "left_out_revisions": " ".join(str(one.revision) for one in self.left_out),
            "left_out_reports": sum(one.n for one in self.left_out),
        }


def rows_csv(rows: Iterable[Row], scope: Scope) -> str:
    """Return rows of values as CSV, each with what it speaks of; see `as_csv`."""
    said = scope.columns
    return as_csv([*Row.model_fields, *said], (row.model_dump() | said for row in rows))


def as_csv(head: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a header; what is null is an empty field.

    A value that a spreadsheet would run as a formula is defused; see `defused`. Truth is written
    `true` and `false`: polars and R's `readr` take no other spelling for a boolean.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows([_cell(row[name]) for name in head] for row in rows)
    return out.getvalue()


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document of the pages as JSON, days and models included; never NaN."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False, default=str)


def _cell(given: Any) -> Any:
    if isinstance(given, bool):
        return "true" if given else "false"
    return defused(given) if type(given) is str else given


def defused(text: str) -> str:
    """Return `text`, after an apostrophe if a spreadsheet would take it for a formula.

    That is text which begins with = + - @, a tab or a line end and isn't a plain number. Text that
    already has apostrophes before such a beginning gets one more, so that two values never become
    one and taking one away gives the value back. All other text is unchanged.
    """
    return "'" + text if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
