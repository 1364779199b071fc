"""The collector as an ASGI application: authentication first, devices' routes, then FastAPI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import date
from functools import partial
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rumor_server.access import (
    open_scopes,
    parse_origins,
    parse_proxies,
    parse_root_path,
    undecided_scopes,
)
from rumor_server.clock import system_day
from rumor_server.errors import Overloaded
from rumor_server.http.authentication import Authentication
from rumor_server.http.connections import LAST_WORDS_SECONDS
from rumor_server.http.counters import Counters
from rumor_server.http.dashboard.pages import render_problem
from rumor_server.http.dashboard.routes import dashboard_router
from rumor_server.http.device_route import DeviceRoute
from rumor_server.http.docs_page import STYLE_HASH, docs_page
from rumor_server.http.error_responses import answer_errors
from rumor_server.http.ip_rate_limit import IpRateLimit
from rumor_server.http.openapi import add_ingest
from rumor_server.http.problem import problem_of
from rumor_server.http.prometheus import PrometheusPage
from rumor_server.http.query_limits import QueryLimits
from rumor_server.http.quota import KeyQuotas, MeteredWriter
from rumor_server.http.routes.estimates import analyst_routes
from rumor_server.http.routes.operator import operator_routes
from rumor_server.http.routes.periods import period_routes
from rumor_server.http.routes.reports import Ingest
from rumor_server.http.routes.retractions import Retract
from rumor_server.http.security_headers import SecurityHeaders, content_policy
from rumor_server.http.slots import RequestSlots
from rumor_server.operations.day_closing import Hold, close_old_days, compact_deltas
from rumor_server.operations.keyring import Keyring
from rumor_server.operations.periodic_tasks import PeriodicTasks
from rumor_server.operations.readiness import Readiness
from rumor_server.queries.open_days import SteppedTallies
from rumor_server.queries.service import QueryService
from rumor_server.settings import Settings
from rumor_server.statistics.mechanisms.table import estimator_class
from rumor_server.storage.open_days import OpenDays
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.registry_in_force import put_in_force
from rumor_server.storage.report_weights import ReportWeights, read_weights
from rumor_server.storage.store import Store
from rumor_server.storage.writer import RETRY_SECONDS, Writer
from rumor_shared.registry import Registry
from rumor_shared.version import __version__
from rumor_shared.wire import REPORTS_PATH, RETRACTIONS_PATH

# What people read is computed off the event loop, a few at a time: forty decodes at once, the
# framework's default, would hold their memory together and starve the writer.
_ESTIMATING_THREADS = 4

log = logging.getLogger(__name__)


class Collector(FastAPI):
    """FastAPI behind authentication, with the routes that devices call taken out of its way."""

    devices: Mapping[str, DeviceRoute]
    entrance: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is let in; what the server's stop cuts off is told to come again."""
        if self.root_path and str(scope.get("path", "")).startswith(self.root_path + "/"):
            # From a proxy that leaves the path under which it offers the collector.
            scope = {**scope, "path": scope["path"].removeprefix(self.root_path)}
        try:
            await self.entrance(scope, receive, send)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            # Where an answer had begun, it stays as it is. A client that doesn't read is not waited
            # for a second time.
            with suppress(RuntimeError, TimeoutError):
                async with asyncio.timeout(LAST_WORDS_SECONDS):
                    await problem_of(
                        Overloaded(RETRY_SECONDS), sends_reports=scope["path"] in self.devices
                    )(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer devices at once and hand everything else to FastAPI."""
        device = self.devices.get(scope["path"]) if scope["type"] == "http" else None
        if device is not None:
            await device(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, the devices' routes included."""
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
    UTC day, which tests set. Raises ChangedMeaning if a metric changed and its revision did not,
    SettingsError for settings that contradict each other.
    """
    is_open, proxies = open_scopes(settings), parse_proxies(settings.trusted_proxies)
    for metric in registry.metrics.values():
        estimator_class(metric.mechanism.name)
    store.declare(registry)
    control = Control(settings)
    put_in_force(control, registry.sha256)
    receipts = Receipts(settings.receipts_folder)
    writer = Writer(
        store,
        queue_reports=settings.queue_reports,
        disk=settings.database.absolute().parent,
        reserve_bytes=settings.reserve_bytes,
        receipts=receipts,
    )
    hold = Hold(registry.max_age_days, store.close_days(date.min))
    counters, weights = Counters(), ReportWeights(control)
    # Each on a connection of its own: who sends a key waits neither for the others nor for counts.
    of_keys, of_quotas = Control(settings), Control(settings)
    keyring, quotas = Keyring(of_keys, settings.refresh_seconds), KeyQuotas(of_quotas, today)

    def write_used() -> None:
        keyring.write_used(today())

    stepped = SteppedTallies(store, OpenDays(control), registry.step_seconds)
    service = QueryService(
        store, partial(read_weights, control), registry=registry, stepped=stepped
    )

    def step_open_days() -> None:
        stepped.look(tuple(registry.metrics.values()))

    periodic = PeriodicTasks(
        control,
        registry.sha256,
        repeated=(weights.write, write_used, quotas.forget_past, step_open_days),
        last=(weights.write, write_used, quotas.close),
    )

    def check_writable() -> None:
        periodic.check_in_force()
        writer.check_writable()
        receipts.check()

    readiness = Readiness(check_writable)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = _ESTIMATING_THREADS
        writer.start()
        tasks = [
            asyncio.create_task(
                close_old_days(
                    writer,
                    receipts,
                    today,
                    hold,
                    settings.close_seconds,
                    tuple(registry.metrics),
                )
            ),
            asyncio.create_task(compact_deltas(writer)),
            asyncio.create_task(periodic.run(settings.refresh_seconds)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            service.close()
            await asyncio.to_thread(periodic.finish)
            of_keys.close()
            of_quotas.close()
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
        root_path=parse_root_path(settings.root_path),
        # A redirect would repeat the Host that a stranger sent.
        redirect_slashes=False,
    )
    metered = MeteredWriter(writer, quotas, counters, weights.observe, today)
    app.devices = {
        REPORTS_PATH: Ingest(registry, metered, today, settings.body_seconds, hold.in_doubt),
        RETRACTIONS_PATH: Retract(registry, metered, today, settings.body_seconds, hold.in_doubt),
    }
    app.entrance = _outermost(
        Authentication(
            RequestSlots(app.answer, settings.open_requests, counters),
            keyring,
            quotas,
            IpRateLimit(settings.address_requests, proxies),
            counters,
            is_open=is_open,
            undecided=undecided_scopes(settings),
            host=settings.host,
            today=today,
            check_in_force=periodic.check_in_force,
            origins=parse_origins(settings.cors_origins),
            sign_in_page=partial(_sign_in_page, app.root_path),
        ),
        parse_origins(settings.cors_origins),
    )
    page = PrometheusPage(
        control,
        counters,
        registry.sha256,
        registry.max_age_days,
        today,
        readiness.is_ready,
        service.rough_count,
    )
    limits = QueryLimits()
    app.include_router(analyst_routes(service, registry, settings.body_seconds, limits))
    app.include_router(period_routes(service, today, limits))
    app.include_router(operator_routes(registry, readiness, today, page))
    app.include_router(
        dashboard_router(
            service,
            registry,
            today=today,
            candidates=settings.candidates_folder,
            body_seconds=settings.body_seconds,
            limits=limits,
        )
    )

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        policy = {"Content-Security-Policy": content_policy(STYLE_HASH)}
        return HTMLResponse(docs_page(app.openapi(), "openapi.json"), headers=policy)

    answer_errors(app)
    return app


def _sign_in_page(base: str, detail: str) -> str:
    """Return the page for a reader without a key: what to type into the browser's prompt."""
    return render_problem(
        401,
        "A key is needed",
        f"{detail}. In the browser's prompt leave the name empty, or type any; the password is the "
        "key, which begins with rumor_analyst_ or rumor_admin_. The operator makes one with: rumor "
        "keys create NAME --scope analyst. To type it again, load this page again",
        base,
    )


def _outermost(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Return what stands before authentication: a browser's preflight comes without a key."""
    if origins:
        app = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Encoding", "Content-Type", "If-None-Match"],
            expose_headers=["ETag", "Link", "Retry-After"],
        )
    return SecurityHeaders(app, cross_origin=bool(origins))
