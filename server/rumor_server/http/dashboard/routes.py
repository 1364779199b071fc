"""The dashboard's routes: `/`, `/metric/{name}`, the upload of candidates, and packaged files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rumor_server.errors import BadRequest, NotFound, StoreError
from rumor_server.http.dashboard.answer import Format, answer, wanted_format
from rumor_server.http.dashboard.metric_page import Sources, metric_page
from rumor_server.http.dashboard.metrics_page import metrics_page
from rumor_server.http.dashboard.pages import (
    STATIC,
    render_metric,
    render_metrics,
    render_problem,
    static_file,
)
from rumor_server.http.dashboard.tables import metric_csv, metric_json, metrics_csv, metrics_json
from rumor_server.http.dashboard.upload import read_upload
from rumor_server.http.dashboard.view import View, parse_view
from rumor_server.http.problem import problem_of, status_of
from rumor_server.queries.cache import Measurements
from rumor_server.queries.candidate_lists import CandidateLists, parse_candidates
from rumor_server.queries.service import Shapes
from rumor_server.storage.store import Store
from rumor_shared.errors import UnknownMetric
from rumor_shared.registry import Registry

# A packaged file's address changes with its content, so it never has to be asked for again.
_FOR_EVER = "public, max-age=31536000, immutable"
# A metric's past revisions are few, and reading them parses a whole registry.
_KEPT_METRICS = 1024


def dashboard_router(
    store: Store,
    registry: Registry,
    *,
    today: Callable[[], date],
    candidates: Path,
    body_seconds: float,
    shapes: Shapes,
) -> APIRouter:
    """Return the routes of the dashboard.

    Uploaded lists of candidates are kept in the folder `candidates`, made when it is first needed.
    `today` is the server's UTC day, `shapes` knows the weights of reports. The store must have
    adopted the registry.
    """
    router = APIRouter(include_in_schema=False)
    sources = Sources(
        store,
        registry,
        Measurements(store),
        CandidateLists(candidates),
        today,
        lru_cache(_KEPT_METRICS)(store.revisions),
        shapes,
    )

    @router.get("/")
    async def metrics(request: Request) -> Response:
        def respond(format_: Format) -> Response:
            parse_view(_pairs(request))
            page = metrics_page(sources)
            match format_:
                case Format.CSV:
                    body = metrics_csv(page)
                case Format.JSON:
                    body = metrics_json(page)
                case Format.HTML:
                    body = render_metrics(page, _base(request))
            return answer(request, format_, body, "metrics")

        return await _guarded(request, respond)

    @router.get("/metric/{name}")
    async def metric(request: Request, name: str) -> Response:
        def respond(format_: Format) -> Response:
            pairs = _pairs(request)
            view = parse_view(pairs)
            page = metric_page(sources, name, view)
            # A form sends its empty fields too; what stays in the address bar is the permalink.
            if format_ is Format.HTML and not all(text for _, text in pairs):
                return _see(request, name, view)
            match format_:
                case Format.CSV:
                    body = metric_csv(page)
                case Format.JSON:
                    body = metric_json(page)
                case Format.HTML:
                    body = render_metric(page, _base(request))
            return answer(request, format_, body, f"{name}-{view.part}")

        return await _guarded(request, respond)

    @router.post("/metric/{name}/candidates")
    async def upload(request: Request, name: str) -> Response:
        async def keep() -> Response:
            view = parse_view(_pairs(request))
            body = await read_upload(request, body_seconds)
            return await run_in_threadpool(_keep, sources, request, name, view, body)

        return await _explained(request, Format.HTML, keep)

    @router.get("/static/{name}")
    async def static(request: Request, name: str) -> Response:
        if name not in STATIC:
            missing = NotFound("there is no such file; the pages name those that exist")
            return _failed(request, Format.HTML, missing)
        headers = {"Cache-Control": _FOR_EVER, "Content-Type": STATIC[name]}
        return Response(static_file(name), headers=headers)

    return router


def _keep(sources: Sources, request: Request, name: str, view: View, body: bytes) -> Response:
    """Keep an uploaded list and lead to its permalink, or say on the page what is wrong with it."""
    revisions = sources.revisions(name)
    if not revisions:
        raise UnknownMetric(name)
    if revisions[-1].mechanism.values is not None:
        raise BadRequest("candidates: this metric lists its values itself; it takes none")
    try:
        candidates = parse_candidates(body)
    except BadRequest as error:
        page = metric_page(sources, name, view)
        html = render_metric(page, _base(request), problem=error.detail)
        return answer(request, Format.HTML, html, name, status_of(error))
    sources.lists.keep(name, candidates)
    found = replace(view, candidates=candidates.sha256, page=1, followed=())
    return _see(request, name, found)


def _see(request: Request, name: str, view: View) -> Response:
    """Lead to the permalink of a view: 303, so that a reload sends nothing again."""
    query = view.query()
    where = f"{_base(request)}/metric/{name}" + (f"?{query}" if query else "")
    return RedirectResponse(where, HTTPStatus.SEE_OTHER)


def _pairs(request: Request) -> list[tuple[str, str]]:
    return [pair for pair in request.query_params.multi_items() if pair[0] != "format"]


def _base(request: Request) -> str:
    """Return the path under which a proxy offers the collector, without a slash at the end."""
    return str(request.scope.get("root_path", "")).rstrip("/")


async def _guarded(request: Request, respond: Callable[[Format], Response]) -> Response:
    """Answer from a thread, in the format that the request wants; errors too."""
    try:
        format_ = wanted_format(request)
    except BadRequest as error:
        return _failed(request, Format.HTML, error)
    return await _explained(request, format_, lambda: run_in_threadpool(respond, format_))


async def _explained(
    request: Request, format_: Format, work: Callable[[], Awaitable[Response]]
) -> Response:
    try:
        return await work()
    except UnknownMetric:
        missing = NotFound("no registry ever declared this metric or revision; see the list")
        return _failed(request, format_, missing)
    except (BadRequest, StoreError) as error:
        return _failed(request, format_, error)


def _failed(request: Request, format_: Format, error: BadRequest | StoreError) -> Response:
    """Return an error as a page for people, as a problem document for programs."""
    response = problem_of(error)
    if format_ is Format.HTML:
        status = response.status_code
        detail = error.detail if isinstance(error, BadRequest) else "try again in a few seconds"
        page = render_problem(status, HTTPStatus(status).phrase, detail, _base(request))
        return answer(request, Format.HTML, page, "problem", status)
    return response
