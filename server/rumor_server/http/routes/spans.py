"""What routes for analysts share: which reports are asked of, and an answer in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from rumor_server.errors import BadRequest, NotFound
from rumor_server.http.parameters import Day, Number, Whole
from rumor_server.http.responses import MAX_ROWS, conditional, next_link, preferred
from rumor_server.queries.candidate_lists import MAX_CANDIDATES
from rumor_server.queries.question import DEFAULT_ALPHA, LEAST_ALPHA, Question
from rumor_server.queries.service import QueryService
from rumor_shared.errors import UnknownMetric
from rumor_shared.metric import MAX_REVISION
from rumor_shared.wire import JSON

CSV = "text/csv"
MANY_ROWS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {CSV: {}},
        "description": "Rows, as JSON or CSV, in the order of the registry or the candidates; "
        "Link leads to the next part",
    }
}

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Response])


class Parts(BaseModel):
    """How sure, in which form, and which of the rows."""

    model_config = ConfigDict(extra="forbid")

    alpha: Number = Field(
        DEFAULT_ALPHA, ge=LEAST_ALPHA, lt=1, description="1 - coverage of the intervals"
    )
    format: Literal["json", "csv"] | None = Field(None, description="wins over Accept")
    limit: Whole | None = Field(
        None, ge=1, le=MAX_ROWS, description="at most so many rows; all without it"
    )
    offset: Whole = Field(
        0, ge=0, le=MAX_ROWS, description="rows to pass over, in their fixed order"
    )

    @property
    def part(self) -> slice:
        """Which of the rows."""
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)

    def as_csv(self, accept: str) -> bool:
        """Return whether CSV is meant, by `format` or else by an Accept header."""
        return self.format == "csv" or (self.format is None and preferred(accept, JSON, CSV) == CSV)


class Span(Parts):
    """Which reports, and how sure."""

    first: Day | None = Field(None, alias="from", description="first UTC day, inclusive")
    last: Day | None = Field(None, alias="to", description="last UTC day, inclusive")
    revision: Whole | None = Field(None, ge=1, le=MAX_REVISION, description="this revision alone")


class WholeSpan(Parts):
    """How sure, and a few texts of an open domain: a window is not chosen after looking."""

    candidate: list[str] = Field([], max_length=MAX_CANDIDATES, description="may be repeated")


class SpanAndCandidates(Span):
    """Which reports, how sure, and a few texts to look for in an open domain."""

    candidate: list[str] = Field([], max_length=MAX_CANDIDATES, description="may be repeated")


def read(
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


def question_asked(
    service: QueryService, metric: str, asked: Parts, candidates: list[str] | None
) -> Question:
    """Return what a request asks of a metric. Raises BadRequest, NotFound."""
    revision = None
    if isinstance(asked, Span):
        revision = asked.revision
        if asked.first and asked.last and asked.first > asked.last:
            raise BadRequest("query.from: is after `to`; swap them")
    try:
        return service.question(metric, revision=revision, candidates=candidates, alpha=asked.alpha)
    except UnknownMetric:
        raise NotFound(
            "no registry ever declared this metric or revision; "
            f"{service.near(metric)}see /v1/metrics"
        ) from None


def answer(request: Request, body: bytes, rows: int, span: Parts, accept: str) -> Response:
    """Return a part of so many rows under its tag, with the link to the next."""
    headers = {
        "Vary": "Accept",
        **next_link(request.query_params, rows, span.limit, span.offset),
    }
    return conditional(request, body, CSV if span.as_csv(accept) else JSON, headers)
