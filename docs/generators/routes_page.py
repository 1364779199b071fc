"""The route reference: every route that the collector answers, from the application itself."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from docs.generators.explained import NOTICE, check_explained, table
from starlette.routing import BaseRoute

from rumor_server.app import Collector, create_app
from rumor_server.http.problem import Problem
from rumor_server.settings import Settings
from rumor_server.storage.sqlite.store import SqliteStore
from rumor_shared.registry import parse_registry

# Routes for a browser, which the OpenAPI document leaves out.
PAGES = {
    "GET /": "The dashboard: every metric. Also as CSV and JSON, by `format=` or Accept.",
    "GET /metric/{name}": "A metric's page: estimates, trend, comparison, privacy card. Also as "
    "CSV and JSON.",
    "POST /metric/{name}/candidates": "Keeps a list of candidates, and leads to their page.",
    "GET /static/{name}": "Style, script and chart library of the dashboard.",
    "GET /docs": "This collector's OpenAPI document, as one page that loads nothing else.",
    "GET /openapi.json": "The OpenAPI document.",
}
_REGISTRY = b"""[metrics.sample]
revision = 1
mechanism = "binary"
epsilon = 1
owner = "documentation"
purpose = "documentation"
expires = 9999-12-31
"""
_METHODS = ("get", "post", "put", "delete", "patch")


def page() -> str:
    """Return the page. Raises Unexplained for a route outside OpenAPI without a meaning."""
    document, hidden = described()
    check_explained("routes outside OpenAPI", hidden, PAGES)
    operations = {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in _METHODS
    }
    answers = [_answers(operation) for operation in operations.values()]
    everywhere = [one for one in answers[0] if all(one in others for others in answers)]
    lines = [
        NOTICE,
        "",
        "# Route reference",
        "",
        "What a collector answers. `/openapi.json` is the same for machines, with every schema.",
        "Every error is `application/problem+json` (RFC 9457) with the fields "
        + ", ".join(f"`{name}`" for name in Problem.__struct_fields__)
        + ", and never repeats what was sent.",
        "",
        *table(("route", "for"), ((f"`{route}`", about) for route, about in PAGES.items())),
        "Any route may answer:",
        "",
        *table(("status", "when"), everywhere),
    ]
    for route in sorted(operations, key=lambda one: (one.split()[1], one)):
        lines += _operation(route, operations[route], everywhere)
    return "\n".join(lines).rstrip() + "\n"


def described() -> tuple[dict[str, Any], set[str]]:
    """Return an application's OpenAPI document, and its routes outside of it."""
    return asyncio.run(_described())


def hidden_routes(app: Collector, document: Mapping[str, Any]) -> set[str]:
    """Return the routes that the OpenAPI document leaves out, as "METHOD /path"."""
    found: set[str] = set()
    for route in _leaves(app.routes):
        path = getattr(route, "path", "")
        for method in sorted(getattr(route, "methods", None) or ()):
            described = method.lower() in document["paths"].get(path, {})
            if method != "HEAD" and not described:
                found.add(f"{method} {path}")
    return found


def _leaves(routes: list[BaseRoute]) -> Iterator[BaseRoute]:
    for route in routes:
        # FastAPI keeps an included router whole; Starlette's mounts have routes of their own.
        below: Any = getattr(route, "original_router", route)
        if getattr(below, "routes", None):
            yield from _leaves(below.routes)
        else:
            yield route


async def _described() -> tuple[dict[str, Any], set[str]]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(database=Path(folder) / "rumor.sqlite3")
        store = SqliteStore(settings.database)
        app = create_app(parse_registry(_REGISTRY), store, settings, lambda: date(2026, 11, 30))
        # Started and stopped, so that it closes what it opened.
        async with app.router.lifespan_context(app):
            document = app.openapi()
            return document, hidden_routes(app, document)


def _answers(operation: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (f"`{status}`", _plain(answer["description"]))
        for status, answer in sorted(operation["responses"].items())
    ]


def _operation(
    route: str, operation: Mapping[str, Any], everywhere: list[tuple[str, str]]
) -> Iterator[str]:
    yield f"## `{route}`"
    yield ""
    yield f"{operation['summary']}. {operation.get('description', '')}".strip()
    yield ""
    takes = [
        (f"`{one['name']}`", one["in"], _plain(one.get("description", "")))
        for one in operation.get("parameters", [])
    ]
    takes += [
        (f"`{kind}`", "body", "") for kind in operation.get("requestBody", {}).get("content", {})
    ]
    if takes:
        yield from table(("takes", "in", "meaning"), takes)
    own = [one for one in _answers(operation) if one not in everywhere]
    yield from table(("status", "when"), own)


def _plain(text: str) -> str:
    return " ".join(text.split())
