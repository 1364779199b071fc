"""The ingest route's part of the OpenAPI document, made from the structs that decode and answer."""

from __future__ import annotations

from typing import Any

import msgspec

from rumor_server.batch import Batch
from rumor_server.ingest import BatchResult
from rumor_server.problem import Problem
from rumor_shared.wire import JSON, MSGPACK, PROBLEM, REPORTS_PATH

_PROBLEMS = {
    "400": "Not the schema: the client halves the batch until the report at fault is alone",
    "405": "Another method than POST",
    "408": "The body took too long",
    "413": "Too large on the wire or inflated, or too many reports: split it",
    "415": "Another media type or content encoding",
    "500": "A fault of the collector: send the same again later",
    "503": "Overloaded, stopping, or a commit of unknown outcome: send the same after Retry-After",
    "507": "The disk is almost full: send the same much later",
}


def add_ingest(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with `POST /v1/reports`, and one shape for every error of every route."""
    (batch, result, problem), components = msgspec.json.schema_components(
        [Batch, BatchResult, Problem], ref_template="#/components/schemas/{name}"
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas.update(components)
    errors = {
        status: {"description": what, "content": {PROBLEM: {"schema": problem}}}
        for status, what in _PROBLEMS.items()
    }
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            for status in ("400", "404", "500", "503"):
                operation["responses"][status] = errors.get(status) or {
                    "description": "There is no such thing",
                    "content": {PROBLEM: {"schema": problem}},
                }
    document["paths"][REPORTS_PATH] = {
        "post": {
            "tags": ["device"],
            "operationId": "send_reports",
            "summary": "Count the reports of one device and day",
            "description": "Answers after the commit is durable, with a verdict for each report. "
            "Content-Encoding may be gzip. Sending the same bytes again is always safe.",
            "requestBody": {
                "required": True,
                "content": {JSON: {"schema": batch}, MSGPACK: {"schema": batch}},
            },
            "responses": {
                "200": {
                    "description": "A verdict for each report, in their order",
                    "content": {JSON: {"schema": result}},
                },
                **errors,
            },
        }
    }
    return document
