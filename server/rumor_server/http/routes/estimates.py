"""Routes for analysts: metrics, and the estimates of their values as JSON or CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from rumor_server.errors import BadRequest, NotFound
from rumor_server.http.candidates import read_candidates, request_body
from rumor_server.http.parameters import Day, Number, Whole, refuse_repeats
from rumor_server.http.query_limits import QueryLimits
from rumor_server.http.responses import MAX_ROWS, conditional, next_link, preferred
from rumor_server.queries.authenticity import DEFAULT_FAKE_SHARE
from rumor_server.queries.candidate_lists import MAX_CANDIDATES
from rumor_server.queries.question import DEFAULT_ALPHA, LEAST_ALPHA
from rumor_server.queries.rows import EstimatesPage
from rumor_server.queries.service import QueryService
from rumor_shared.epsilon import MICRO
from rumor_shared.errors import UnknownMetric
from rumor_shared.metric import MAX_REVISION, Metric
from rumor_shared.registry import Registry
from rumor_shared.wire import JSON

CSV = "text/csv"

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Response])


class MetricPage(BaseModel):
    """What a metric asks and what it costs. Epsilon are plain numbers."""

    name: str
    revision: int
    mechanism: str
    question: str
    owner: str
    purpose: str
    family: str
    expires: date = Field(description="last valid UTC day, inclusive")
    epsilon_report: float
    epsilon_infinity: float | None = Field(description="of all reports of one unchanging value")
    daily_epsilon: float
    lifetime_epsilon: float | None
    cohorts: int
    values: list[str] | None = Field(description="null where any text may be recorded")
    min_reports: int
    first_day: date | None = Field(description="first day with a counted report")
    last_day: date | None


class MetricsPage(BaseModel):
    """Every metric of the registry."""

    metrics: list[MetricPage]


class Span(BaseModel):
    """Which reports, and how sure."""

    model_config = ConfigDict(extra="forbid")

    first: Day | None = Field(None, alias="from", description="first UTC day, inclusive")
    last: Day | None = Field(None, alias="to", description="last UTC day, inclusive")
    revision: Whole | None = Field(None, ge=1, le=MAX_REVISION, description="this revision alone")
    alpha: Number = Field(
        DEFAULT_ALPHA, ge=LEAST_ALPHA, lt=1, description="1 - coverage of the intervals"
    )
    fakes: Number = Field(
        DEFAULT_FAKE_SHARE, ge=0, le=1, description="share of fake reports whose effect to tell"
    )
    robust: Number | None = Field(
        None, ge=0, le=1, description="another name for `fakes`, over which it wins"
    )
    format: Literal["json", "csv"] | None = Field(None, description="wins over Accept")
    limit: Whole | None = Field(
        None, ge=1, le=MAX_ROWS, description="at most so many rows; all without it"
    )
    offset: Whole = Field(
        0, ge=0, le=MAX_ROWS, description="rows to pass over, in their fixed order"
    )


class SpanAndCandidates(Span):
    """Which reports, how sure, and a few texts to look for in an open domain."""

    candidate: list[str] = Field([], max_length=MAX_CANDIDATES, description="may be repeated")


# Given twice, the last would win, and nobody be told.
_ONCE = tuple(field.alias or name for name, field in Span.model_fields.items())


async def _refuse_repeats(request: Request) -> None:
    refuse_repeats((name for name, _ in request.query_params.multi_items()), _ONCE)


def analyst_routes(
    service: QueryService, registry: Registry, body_seconds: float, limits: QueryLimits
) -> APIRouter:
    """Return the routes of metrics and estimates."""

    async def admitted(request: Request) -> AsyncIterator[None]:
        with limits.admitted(request):
            yield

    router = APIRouter(tags=["analyst"], dependencies=[Depends(_refuse_repeats), Depends(admitted)])
    path = "/v1/metrics/{metric}/estimates"
    rows: dict[int | str, dict[str, Any]] = {
        200: {
            "content": {CSV: {}},
            "description": "Rows, as JSON or CSV, in the order of the registry or the candidates; "
            "Link leads to the next part",
        }
    }

    @_read(router, "/v1/metrics", MetricsPage, "Every metric and what it costs")
    def metrics(request: Request) -> Response:
        page = MetricsPage(
            metrics=[_metric_page(metric, service) for metric in registry.metrics.values()]
        )
        return conditional(request, page.model_dump_json().encode(), JSON)

    @_read(router, path, EstimatesPage, "How common each value is", rows)
    def estimates(
        request: Request,
        metric: str,
        query: Annotated[SpanAndCandidates, Query()],
        accept: Annotated[str, Header()] = "*/*",
    ) -> Response:
        return _estimates(request, service, metric, query, query.candidate or None, accept)

    @router.post(
        path,
        response_model=EstimatesPage,
        responses=rows,
        summary="How common each of many candidates is",
        description="Reads only; POST because a list of candidates outgrows an address.",
        openapi_extra=request_body(),
    )
    async def estimates_of_candidates(
        request: Request,
        metric: str,
        query: Annotated[Span, Query()],
        accept: Annotated[str, Header()] = "*/*",
    ) -> Response:
        candidates = await read_candidates(request, body_seconds)
        return await run_in_threadpool(
            _estimates, request, service, metric, query, candidates, accept
        )

    return router


def _read(
    router: APIRouter,
    path: str,
    model: type[BaseModel] | None,
    summary: str,
    responses: dict[int | str, dict[str, Any]] | None = None,
) -> Callable[[_Endpoint], _Endpoint]:
    """Route GET to a function that answers with a conditional response."""

    def add(endpoint: _Endpoint) -> _Endpoint:
        router.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            response_model=model,
            response_class=JSONResponse if model else Response,
            responses={**(responses or {}), 304: {"description": "Unchanged"}},
            summary=summary,
        )
        return endpoint

    return add


def _estimates(
    request: Request,
    service: QueryService,
    metric: str,
    span: Span,
    candidates: list[str] | None,
    accept: str,
) -> Response:
    if span.first and span.last and span.first > span.last:
        raise BadRequest("query.from: is after `to`; swap them")
    try:
        question = service.question(
            metric, revision=span.revision, candidates=candidates, alpha=span.alpha
        )
        as_csv = span.format == "csv" or (
            span.format is None and preferred(accept, JSON, CSV) == CSV
        )
        body, rows = service.written(
            question,
            span.first,
            span.last,
            fake_share=span.fakes if span.robust is None else span.robust,
            part=slice(span.offset, None if span.limit is None else span.offset + span.limit),
            as_csv=as_csv,
        )
    except UnknownMetric:
        raise NotFound(
            "no registry ever declared this metric or revision; see /v1/metrics"
        ) from None
    headers = {
        "Vary": "Accept",
        **next_link(request.query_params, rows, span.limit, span.offset),
    }
    return conditional(request, body, CSV if as_csv else JSON, headers)


def _metric_page(metric: Metric, service: QueryService) -> MetricPage:
    mechanism = metric.mechanism
    days = service.days(service.revisions(metric.name))
    return MetricPage(
        name=metric.name,
        revision=metric.revision,
        mechanism=mechanism.name,
        question=metric.question,
        owner=metric.owner,
        purpose=metric.purpose,
        family=metric.family,
        expires=metric.expires,
        epsilon_report=mechanism.epsilon_report / MICRO,
        epsilon_infinity=_plain(mechanism.epsilon_infinity),
        daily_epsilon=metric.daily_epsilon / MICRO,
        lifetime_epsilon=_plain(metric.lifetime_epsilon),
        cohorts=mechanism.cohorts,
        values=None if mechanism.values is None else list(mechanism.values),
        min_reports=metric.min_reports,
        first_day=days and days[0],
        last_day=days and days[1],
    )


def _plain(micro: int | None) -> float | None:
    return None if micro is None else micro / MICRO
