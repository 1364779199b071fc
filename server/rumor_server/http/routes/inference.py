"""Routes for analysts: what the tests behind estimates confirm, as JSON or CSV."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from rumor_server.http.routes.spans import (
    MANY_ROWS,
    SpanAndCandidates,
    WholeSpan,
    answer,
    question_asked,
    read,
)
from rumor_server.queries.ranks import RanksPage, ranks_csv
from rumor_server.queries.service import QueryService
from rumor_server.queries.watch import WatchPage, watch_csv

_BY_RANK: dict[int | str, dict[str, Any]] = {
    200: {**MANY_ROWS[200], "description": "Rows, as JSON or CSV, the highest estimate first"}
}
_BY_DAY: dict[int | str, dict[str, Any]] = {
    200: {**MANY_ROWS[200], "description": "Rows, as JSON or CSV, by day and then by value"}
}


def add_inference(router: APIRouter, service: QueryService) -> None:
    """Add the routes to a router that admits what may be asked."""

    @read(
        router,
        "/v1/metrics/{metric}/ranks",
        RanksPage,
        "Which values are commoner than which, beyond chance",
        _BY_RANK,
    )
    def ranks(
        request: Request,
        metric: str,
        query: Annotated[SpanAndCandidates, Query()],
        accept: Annotated[str, Header()] = "*/*",
    ) -> Response:
        question = question_asked(service, metric, query, query.candidate or None)
        page = service.ranks(question, query.first, query.last)
        part = page.model_copy(update={"rows": page.rows[query.part]})
        body = ranks_csv(part) if query.as_csv(accept) else part.model_dump_json()
        return answer(request, body.encode(), page.row_count, query, accept)

    @read(
        router,
        "/v1/metrics/{metric}/watch",
        WatchPage,
        "Running shares with bounds that hold on all days, however often one looks",
        _BY_DAY,
    )
    def watch(
        request: Request,
        metric: str,
        query: Annotated[WholeSpan, Query()],
        accept: Annotated[str, Header()] = "*/*",
    ) -> Response:
        page = service.watch(question_asked(service, metric, query, query.candidate or None))
        part = page.model_copy(update={"rows": page.rows[query.part]})
        body = watch_csv(part) if query.as_csv(accept) else part.model_dump_json()
        return answer(request, body.encode(), page.row_count, query, accept)
