"""Routes for analysts: metrics, and the estimates of their values as JSON or CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import date
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel, Field

from rumor_server.http.candidates import read_candidates, request_body
from rumor_server.http.parameters import Number, refuse_repeats
from rumor_server.http.query_limits import QueryLimits
from rumor_server.http.responses import conditional
from rumor_server.http.routes.inference import add_inference
from rumor_server.http.routes.spans import (
    MANY_ROWS,
    Span,
    SpanAndCandidates,
    answer,
    question_asked,
    read,
)
from rumor_server.queries.authenticity import DEFAULT_FAKE_SHARE
from rumor_server.queries.rows import EstimatesPage
from rumor_server.queries.service import QueryService
from rumor_shared.epsilon import MICRO
from rumor_shared.metric import Metric
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


class SpanAndFakes(Span):
    """Which reports, how sure, and how many fakes to allow for."""

    fakes: Number = Field(
        DEFAULT_FAKE_SHARE, ge=0, le=1, description="share of fake reports whose effect to tell"
    )
    robust: Number | None = Field(
        None, ge=0, le=1, description="another name for `fakes`, over which it wins"
    )


class EstimatesQuery(SpanAndCandidates, SpanAndFakes):
    """Which reports, how sure, how many fakes, and a few texts to look for in an open domain."""


# Given twice, the last would win, and nobody be told.
_ONCE = tuple(field.alias or name for name, field in SpanAndFakes.model_fields.items())


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

    @read(router, "/v1/metrics", MetricsPage, "Every metric and what it costs")
    def metrics(request: Request) -> Response:
        page = MetricsPage(
            metrics=[_metric_page(metric, service) for metric in registry.metrics.values()]
        )
        return conditional(request, page.model_dump_json().encode(), JSON)

    @read(router, path, EstimatesPage, "How common each value is", MANY_ROWS)
    def estimates(
        request: Request,
        metric: str,
        query: Annotated[EstimatesQuery, Query()],
        accept: Annotated[str, Header()] = "*/*",
    ) -> Response:
        return _estimates(request, service, metric, query, query.candidate or None, accept)

    @router.post(
        path,
        response_model=EstimatesPage,
        responses=MANY_ROWS,
        summary="How common each of many candidates is",
        description="Reads only; POST because a list of candidates outgrows an address.",
        openapi_extra=request_body(),
    )
    async def estimates_of_candidates(
        request: Request,
        metric: str,
        query: Annotated[SpanAndFakes, Query()],
        accept: Annotated[str, Header()] = "*/*",
    ) -> Response:
        candidates = await read_candidates(request, body_seconds)
        return await run_in_threadpool(
            _estimates, request, service, metric, query, candidates, accept
        )

    add_inference(router, service)
    return router


def _estimates(
    request: Request,
    service: QueryService,
    metric: str,
    span: SpanAndFakes,
    candidates: list[str] | None,
    accept: str,
) -> Response:
    question = question_asked(service, metric, span, candidates)
    body, rows = service.written(
        question,
        span.first,
        span.last,
        fake_share=span.fakes if span.robust is None else span.robust,
        part=span.part,
        as_csv=span.as_csv(accept),
    )
    return answer(request, body, rows, span, accept)


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
