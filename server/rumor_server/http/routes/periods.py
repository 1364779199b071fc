"""The routes of periods: how shares moved by the day, and what changed since another period."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, fields
from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from rumor_server.errors import BadRequest, NotFound
from rumor_server.http.parameters import Day, Number, Whole, refuse_repeats
from rumor_server.http.query_limits import QueryLimits
from rumor_server.http.responses import conditional, preferred
from rumor_server.queries.cache import Measured
from rumor_server.queries.candidate_lists import MAX_CANDIDATES
from rumor_server.queries.comparison import ChangeRow, Of, change_rows
from rumor_server.queries.question import (
    DEFAULT_ALPHA,
    LEAST_ALPHA,
    Days,
    LeftOut,
    Population,
    Question,
    Status,
    days_shown,
    overlap,
    previous_days,
)
from rumor_server.queries.rows import as_csv
from rumor_server.queries.service import QueryService
from rumor_server.queries.trend import TrendRow, measure_trend, trend_rows
from rumor_shared.errors import UnknownMetric
from rumor_shared.metric import MAX_REVISION
from rumor_shared.wire import JSON

CSV = "text/csv"


class RevisionMark(BaseModel):
    """From which day on reports of a newer revision are counted."""

    first_day: date
    revision: int


class TrendPage(BaseModel):
    """The shares of a metric's values, day by day, or over a few days each."""

    metric: str
    question: str
    first_day: date
    last_day: date
    alpha: float
    days_a_point: int
    revisions: list[RevisionMark] = Field(description="where a newer revision begins")
    rows: list[TrendRow] = Field(description="by value, then by time")


class Side(BaseModel):
    """One of two periods."""

    first_day: date
    last_day: date
    status: Status
    n: int = Field(description="reports counted")
    population: Population
    left_out_reports: list[LeftOut]


class ComparisonPage(BaseModel):
    """What changed from one period to another."""

    metric: str
    question: str
    alpha: float
    of: Of = Field(description="whose change is told")
    before: Side
    after: Side
    changed: list[str] = Field(description="values that changed beyond chance, all considered")
    rows: list[ChangeRow] = Field(
        description="the largest rise first; none where a period has nothing to compare"
    )


class Period(BaseModel):
    """Which reports, how sure, and a few texts to look for in an open domain."""

    model_config = ConfigDict(extra="forbid")

    first: Day | None = Field(None, alias="from", description="first UTC day, inclusive")
    last: Day | None = Field(None, alias="to", description="last UTC day, inclusive")
    revision: Whole | None = Field(None, ge=1, le=MAX_REVISION, description="this revision alone")
    alpha: Number = Field(
        DEFAULT_ALPHA, ge=LEAST_ALPHA, lt=1, description="1 - coverage of the intervals"
    )
    format: Literal["json", "csv"] | None = Field(None, description="wins over Accept")
    candidate: list[str] = Field([], max_length=MAX_CANDIDATES, description="may be repeated")


class TwoPeriods(Period):
    """A period, and the one before it that it is compared with."""

    compare_from: Day | None = Field(
        None, description="first UTC day of the other period; without it the one just before"
    )
    compare_to: Day | None = Field(None, description="last UTC day of the other period")
    of: Of = Field(
        Of.POPULATION,
        description="whose change: of the population that devices were drawn from, or of these "
        "very devices",
    )


_ONCE = tuple(
    name
    for name in (field.alias or key for key, field in TwoPeriods.model_fields.items())
    if name != "candidate"
)


async def _refuse_repeats(request: Request) -> None:
    refuse_repeats((name for name, _ in request.query_params.multi_items()), _ONCE)


def period_routes(
    service: QueryService, today: Callable[[], date], limits: QueryLimits
) -> APIRouter:
    """Return the routes of trends and comparisons. `today` is the server's UTC day."""

    async def admitted(request: Request) -> AsyncIterator[None]:
        with limits.admitted(request):
            yield

    router = APIRouter(tags=["analyst"], dependencies=[Depends(_refuse_repeats), Depends(admitted)])
    responses: dict[int | str, dict[str, Any]] = {
        200: {"content": {CSV: {}}, "description": "Rows, as JSON or CSV"},
        304: {"description": "Unchanged"},
    }

    @router.get(
        "/v1/metrics/{metric}/trend",
        response_model=TrendPage,
        responses=responses,
        summary="How shares moved",
    )
    def trend(
        request: Request,
        metric: str,
        query: Annotated[Period, Query()],
        accept: Annotated[str, Header()] = "*/*",
    ) -> Response:
        question, days = _asked(service, metric, query, today())
        found = measure_trend(service, question, *days, least=1)
        if found is None:
            raise BadRequest("query.candidate: there are too many for a trend; give fewer")
        rows = trend_rows(found, question.values, question.values)
        page = TrendPage(
            metric=metric,
            question=question.newest.question,
            first_day=days[0],
            last_day=days[1],
            alpha=question.alpha,
            days_a_point=found.days_a_point,
            revisions=[
                RevisionMark(first_day=found.points[i].first, revision=revision)
                for i, revision in found.revisions
            ],
            rows=rows,
        )
        return _answer(request, page, TrendRow, query.format, accept)

    @router.get(
        "/v1/metrics/{metric}/comparison",
        response_model=ComparisonPage,
        responses=responses,
        summary="What changed since another period",
    )
    def comparison(
        request: Request,
        metric: str,
        query: Annotated[TwoPeriods, Query()],
        accept: Annotated[str, Header()] = "*/*",
    ) -> Response:
        question, days = _asked(service, metric, query, today())
        other = _other(query, days)
        before, after = service.measure(question, *other), service.measure(question, *days)
        rows = change_rows(before, after, query.of) or ()
        page = ComparisonPage(
            metric=metric,
            question=question.newest.question,
            alpha=question.alpha,
            of=query.of,
            before=_side(other, before),
            after=_side(days, after),
            changed=[row.value for row in rows if row.significant],
            rows=list(rows),
        )
        return _answer(request, page, ChangeRow, query.format, accept)

    return router


def _asked(service: QueryService, name: str, query: Period, today: date) -> tuple[Question, Days]:
    if query.first and query.last and query.first > query.last:
        raise BadRequest("query.from: is after `to`; swap them")
    try:
        question = service.question(
            name, revision=query.revision, candidates=query.candidate or None, alpha=query.alpha
        )
    except UnknownMetric:
        raise NotFound(
            "no registry ever declared this metric or revision; "
            f"{service.near(name)}see /v1/metrics"
        ) from None
    return question, days_shown(service.days(question.metrics), query.first, query.last, today)


def _other(query: TwoPeriods, days: Days) -> Days:
    first, last = query.compare_from, query.compare_to
    if first is None and last is None:
        return previous_days(*days)
    if first is None or last is None:
        raise BadRequest("query.compare_from: give both `compare_from` and `compare_to`, or none")
    if first > last:
        raise BadRequest("query.compare_from: is after `compare_to`; swap them")
    if overlap(*days, first, last):
        raise BadRequest("query.compare_to: both periods share days; choose others")
    return first, last


def _side(days: Days, measured: Measured) -> Side:
    return Side(
        first_day=days[0],
        last_day=days[1],
        status=measured.status,
        n=measured.n,
        population=measured.population,
        left_out_reports=list(measured.left_out),
    )


def _answer(
    request: Request,
    page: TrendPage | ComparisonPage,
    kind: type[TrendRow] | type[ChangeRow],
    format_: str | None,
    accept: str,
) -> Response:
    headers = {"Vary": "Accept"}
    if format_ == "csv" or (format_ is None and preferred(accept, JSON, CSV) == CSV):
        head = [field.name for field in fields(kind)]
        body = as_csv(head, (asdict(row) for row in page.rows))
        return conditional(request, body.encode(), CSV, headers)
    return conditional(request, page.model_dump_json().encode(), JSON, headers)
