"""The dashboard's routes: `/`, `/metric/{name}`, the upload of candidates, and packaged files."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from datetime import date
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rumor_server.errors import BadRequest, NotFound, Overloaded, StoreError, UnsupportedMedia
from rumor_server.http.body import read_body
from rumor_server.http.candidates import MAX_BODY_BYTES
from rumor_server.http.dashboard.contents import Sources, metric_page, metrics_page
from rumor_server.http.dashboard.pages import (
    FILE,
    STATIC,
    TEXTS,
    render_metric,
    render_metrics,
    render_problem,
    static_file,
)
from rumor_server.http.dashboard.tables import metric_csv, metric_json, metrics_csv, metrics_json
from rumor_server.http.dashboard.view import View, parse_view
from rumor_server.http.parameters import refuse_repeats
from rumor_server.http.problem import problem_of, status_of
from rumor_server.http.query_limits import QueryLimits
from rumor_server.http.responses import conditional, preferred
from rumor_server.queries.candidate_lists import CandidateLists, parse_candidates
from rumor_server.queries.service import QueryService
from rumor_shared.errors import UnknownMetric
from rumor_shared.registry import Registry


class Format(StrEnum):
    """What a permalink answers as."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"


# A packaged file's address changes with its content, so it never has to be asked for again.
_FOR_EVER = "public, max-age=31536000, immutable"
_MULTIPART = "multipart/form-data"
_FORM = "application/x-www-form-urlencoded"

_MEDIA_TYPES = {
    Format.HTML: "text/html; charset=utf-8",
    Format.CSV: "text/csv; charset=utf-8",
    Format.JSON: "application/json",
}


def dashboard_router(
    service: QueryService,
    registry: Registry,
    *,
    today: Callable[[], date],
    candidates: Path,
    body_seconds: float,
    limits: QueryLimits,
) -> APIRouter:
    """Return the routes of the dashboard.

    Uploaded lists of candidates are kept in the folder `candidates`, made when it is first needed.
    `today` is the server's UTC day. The service's store must have adopted the registry.
    """
    router = APIRouter(include_in_schema=False)
    sources = Sources(service, registry, CandidateLists(candidates), today)

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
            return _answer(request, format_, body, "metrics")

        return await _guarded(request, respond, limits)

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
                    body = service.offloaded(page.row_count, metric_csv, page)
                case Format.JSON:
                    body = service.offloaded(page.row_count, metric_json, page)
                case Format.HTML:
                    body = render_metric(page, _base(request))
            return _answer(request, format_, body, f"{name}-{view.part}")

        return await _guarded(request, respond, limits)

    @router.post("/metric/{name}/candidates")
    async def upload(request: Request, name: str) -> Response:
        async def keep() -> Response:
            view = parse_view(_pairs(request))
            with limits.admitted(request):
                body = await _read_upload(request, body_seconds)
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
    revisions = sources.service.revisions(name)
    if not revisions:
        raise UnknownMetric(name)
    if revisions[-1].mechanism.values is not None:
        raise BadRequest("candidates: this metric lists its values itself; it takes none")
    try:
        candidates = parse_candidates(body)
    except BadRequest as error:
        page = metric_page(sources, name, view)
        html = render_metric(page, _base(request), problem=error.detail)
        return _answer(request, Format.HTML, html, name, status_of(error))
    sources.lists.keep(name, candidates)
    found = replace(view, candidates=candidates.sha256, page=1, followed=())
    return _see(request, name, found)


async def _read_upload(request: Request, seconds: float) -> bytes:
    """Return the bytes of the form's `file`, or of `texts` where no file is chosen.

    Raises BadRequest: 415 for no form, 400 for a broken one, else as `read_body`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {_MULTIPART, _FORM}:
        raise UnsupportedMedia(f"send {_MULTIPART} with `{FILE}`, or {_FORM} with `{TEXTS}`")
    body = await read_body(request.receive, request.headers, seconds, MAX_BODY_BYTES)
    form = await _parse(kind, request.headers, body)
    try:
        file = form.get(FILE)
        if isinstance(file, UploadFile) and file.size:
            return await file.read()
        texts = form.get(TEXTS)
        return texts.encode() if isinstance(texts, str) else b""
    finally:
        await form.close()


async def _parse(kind: str, headers: Headers, body: bytes) -> FormData:
    # The whole body is within its bound; a part of it can't be larger.
    parser = FormParser if kind == _FORM else MultiPartParser
    try:
        return await parser(
            headers, _once(body), max_fields=4, max_part_size=MAX_BODY_BYTES
        ).parse()
    except (MultiPartException, KeyError, ValueError):
        raise BadRequest("the form is broken; send it again") from None


async def _once(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
    yield b""


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


def _wanted_format(request: Request) -> Format:
    """Return the format of `format=`, or the heaviest of Accept; a page where all are as good.

    Raises BadRequest for a format that is none, or given twice.
    """
    refuse_repeats((name for name, _ in request.query_params.multi_items()), ("format",))
    named = request.query_params.get("format")
    if named:
        try:
            return Format(named)
        except ValueError:
            raise BadRequest(f"query.format: is not a format; write {', '.join(Format)}") from None
    accept = request.headers.get("accept", "*/*")
    kinds = {"text/html": Format.HTML, "application/json": Format.JSON, "text/csv": Format.CSV}
    return kinds[preferred(accept, *kinds)]


def _answer(request: Request, format_: Format, body: str, name: str, status: int = 200) -> Response:
    """Return a body in its format; 304 where the reader has it already.

    `name` is what a downloaded file is called, without its ending.
    """
    headers = {"Vary": "Accept"}
    if format_ is Format.CSV:
        headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return conditional(request, body.encode(), _MEDIA_TYPES[format_], headers, status)


async def _guarded(
    request: Request, respond: Callable[[Format], Response], limits: QueryLimits
) -> Response:
    """Answer from a thread, in the format that the request wants; errors too."""
    try:
        format_ = _wanted_format(request)
    except BadRequest as error:
        return _failed(request, Format.HTML, error)

    async def admitted() -> Response:
        with limits.admitted(request):
            return await run_in_threadpool(respond, format_)

    return await _explained(request, format_, admitted)


async def _explained(
    request: Request, format_: Format, work: Callable[[], Awaitable[Response]]
) -> Response:
    try:
        return await work()
    except UnknownMetric:
        missing = NotFound("no registry ever declared this metric or revision; see the list")
        return _failed(request, format_, missing)
    except (BadRequest, Overloaded, StoreError) as error:
        return _failed(request, format_, error)


def _failed(
    request: Request, format_: Format, error: BadRequest | Overloaded | StoreError
) -> Response:
    """Return an error as a page for people, as a problem document for programs."""
    response = problem_of(error)
    if format_ is Format.HTML:
        status = response.status_code
        detail = error.detail if isinstance(error, BadRequest) else "try again in a few seconds"
        page = render_problem(status, HTTPStatus(status).phrase, detail, _base(request))
        shown = _answer(request, Format.HTML, page, "problem", status)
        if wait := response.headers.get("retry-after"):
            shown.headers["Retry-After"] = wait
        return shown
    return response
