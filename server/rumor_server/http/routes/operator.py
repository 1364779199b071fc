"""Routes about the collector itself: its registry, health, readiness, version and own metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from rumor_server.http.prometheus import CONTENT_TYPE, PrometheusPage
from rumor_server.http.responses import conditional
from rumor_server.operations.readiness import Readiness
from rumor_shared.registry import Registry
from rumor_shared.version import __version__
from rumor_shared.wire import REGISTRY_PATH

TOML = "application/toml"


class Health(BaseModel):
    """A state in one word."""

    status: Literal["ok", "ready"]


class Version(BaseModel):
    """What runs here."""

    version: str
    registry: str = Field(description="SHA-256 of the registry")
    server_day: date


def operator_routes(
    registry: Registry,
    readiness: Readiness,
    today: Callable[[], date],
    page: PrometheusPage,
) -> APIRouter:
    """Return the routes of the registry, health, version and the collector's own metrics."""
    router = APIRouter(tags=["operator"])

    # Coroutines, and not functions in the threads that estimates are made in: analysts must not
    # make a device wait, nor a node look dead.
    @router.get(
        REGISTRY_PATH,
        response_class=Response,
        responses={200: {"content": {TOML: {}}}, 304: {"description": "Unchanged"}},
        summary="The registry that this collector counts by",
    )
    async def registry_file(request: Request) -> Response:
        return conditional(request, registry.body, TOML)

    @router.get("/healthz", summary="Whether the process answers")
    async def healthz() -> Health:
        return Health(status="ok")

    @router.get("/readyz", summary="Whether reports can be counted")
    async def readyz() -> Health:
        await readiness.check()
        return Health(status="ready")

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}},
        summary="The collector's own metrics, for Prometheus",
    )
    async def own_metrics() -> Response:
        return Response(await asyncio.to_thread(page.text), media_type=CONTENT_TYPE)

    @router.get("/version", summary="What runs here")
    async def version() -> Version:
        return Version(version=__version__, registry=registry.sha256, server_day=today())

    return router
