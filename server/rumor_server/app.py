"""The collector as an ASGI application: devices' one route in front, FastAPI behind it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from rumor_server.body import Disconnected
from rumor_server.docs_page import docs_page
from rumor_server.errors import BadRequest, StoreError
from rumor_server.ingest import Ingest
from rumor_server.openapi import add_ingest
from rumor_server.problem import problem, problem_of
from rumor_server.queries import analyst_routes, operator_routes
from rumor_server.settings import Settings
from rumor_server.store import Store
from rumor_server.writer import Writer
from rumor_shared.days import utc_day
from rumor_shared.mechanism import mechanism_module
from rumor_shared.registry import Registry
from rumor_shared.version import __version__
from rumor_shared.wire import REPORTS_PATH

log = logging.getLogger(__name__)


def system_day() -> date:
    """Return the UTC day of the system's clock."""
    return utc_day(datetime.now(UTC))


class Collector(FastAPI):
    """FastAPI with the ingest route taken out of its way."""

    ingest: Ingest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer devices at once and hand everything else to FastAPI."""
        if scope["type"] == "http" and scope["path"] == REPORTS_PATH:
            await self.ingest(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, the ingest route included."""
        if self.openapi_schema is None:
            self.openapi_schema = add_ingest(super().openapi())
        return self.openapi_schema


def create_app(
    registry: Registry,
    store: Store,
    settings: Settings,
    today: Callable[[], date] = system_day,
) -> Collector:
    """Return the application that counts reports of `registry` into `store`.

    It owns the store from here: stopping writes what waits and closes it. `today` is the server's
    UTC day, which tests set. Raises ChangedMeaning if a metric changed and its revision did not.
    """
    for metric in registry.metrics.values():
        mechanism_module("rumor_server", metric.mechanism.name)
    store.adopt(registry)
    writer = Writer(
        store,
        queue_reports=settings.queue_reports,
        disk=settings.database.absolute().parent,
        reserve_bytes=settings.reserve_bytes,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        writer.start()
        closing = asyncio.create_task(
            _close_old_days(writer, today, registry.max_age_days, settings.close_seconds)
        )
        try:
            yield
        finally:
            closing.cancel()
            with suppress(asyncio.CancelledError):
                await closing
            if await asyncio.to_thread(writer.close, settings.drain_seconds):
                store.close()
            else:
                log.error("what waited was not written within %g s", settings.drain_seconds)

    app = Collector(
        title="Rumor",
        summary="No single report can be believed; together they tell the truth.",
        version=__version__,
        lifespan=lifespan,
        # The framework's pages load their scripts from elsewhere, and so tell a stranger who reads
        # them.
        docs_url=None,
        redoc_url=None,
    )
    app.ingest = Ingest(registry, writer, today, settings.body_seconds)
    app.include_router(analyst_routes(store, registry, settings.body_seconds))
    app.include_router(operator_routes(store, registry, writer, today))

    @app.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    def docs() -> str:
        return docs_page(app.openapi(), "/openapi.json")

    app.add_exception_handler(Disconnected, _nobody)
    for kind in (BadRequest, StoreError, Exception):
        app.add_exception_handler(kind, _failed)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    return app


async def _close_old_days(
    writer: Writer, today: Callable[[], date], max_age_days: int, seconds: float
) -> None:
    """Close the days that no report may have any more, now and every so often."""
    while True:
        through = today() - timedelta(days=max_age_days + 1)
        try:
            closed = await writer.call(partial(_close, through))
            log.info("days are closed through %s", closed)
        except StoreError as error:
            log.warning("days were not closed: %s", error)
        await asyncio.sleep(seconds)


def _close(through: date, store: Store) -> date:
    return store.close_days(through)


async def _nobody(request: Request, error: Exception) -> Response:
    # The client has gone; the framework wants something to throw away.
    return Response(status_code=400)


async def _failed(request: Request, error: Exception) -> Response:
    return problem_of(error)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    details = {404: "there is nothing here; see /openapi.json", 405: "see Allow for the methods"}
    detail = details.get(error.status_code, "the request can't be answered")
    return problem(error.status_code, detail, dict(error.headers or {}))


# What each parameter and field must be. Pydantic's own words may quote what was sent.
_EXPECTED = {
    "from": "is not a day; write YYYY-MM-DD",
    "to": "is not a day; write YYYY-MM-DD",
    "revision": "is not a revision; write a whole number from 1",
    "alpha": "is not between 0 and 1; write a number such as 0.05",
    "format": "is not a format; write json or csv",
    "candidate": "is not a list of texts of a possible length",
}


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what it is registered for
    words = [str(word) for word in error.errors()[0]["loc"][:2]]
    place, name = words[0], words[1] if len(words) > 1 else ""
    if name in _EXPECTED:
        return problem(400, f"{place}.{name}: {_EXPECTED[name]}")
    return problem(
        400, f"the {place} holds something else than this route takes; see /openapi.json"
    )
