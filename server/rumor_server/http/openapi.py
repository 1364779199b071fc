"""What FastAPI doesn't know of the OpenAPI document: devices' routes, errors, keys and examples.

The devices' schemas are made from the structs that decode and answer.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rumor_server.http.authentication import wanted_scope
from rumor_server.http.openapi_examples import PARAMETERS, REQUESTS, answers
from rumor_server.http.problem import Problem, document_of
from rumor_server.http.routes.reports import BatchResult
from rumor_server.http.routes.retractions import RetractionReceipt
from rumor_server.ingestion.batch import Batch, RetractionBatch
from rumor_shared.wire import JSON, MSGPACK, PROBLEM, REPORTS_PATH, RETRACTIONS_PATH

_DEVICE_PROBLEMS = {
    "400": "Not the schema: the client halves the batch until the report at fault is alone",
    "401": "No key, or one that is unknown, revoked or expired: stop, and keep what waits",
    "403": "A key for something else",
    "405": "Another method than POST",
    "408": "The body took too long",
    "413": "Too large on the wire or inflated, or too many reports: split it",
    "415": "Another media type or content encoding",
    "429": "A limit of the key or address is used up: send the same after Retry-After",
    "500": "A fault of the collector: send the same again later",
    "503": "Overloaded, stopping, or a commit of unknown outcome: send the same after Retry-After",
    "507": "The disk is almost full: send the same much later",
}
_READER_PROBLEMS = {
    "400": "A parameter or the body is not as described here: the detail names it",
    "401": "No key, or one that is unknown, revoked or expired: ask the operator for one",
    "403": "A key for something else",
    "404": "No registry ever declared this metric or revision",
    "405": "Another method than Allow names",
    "408": "The body took too long",
    "413": "The body is too large: send fewer candidates",
    "415": "Another media type or content encoding",
    "429": "A limit of the key or address is used up: ask again after Retry-After",
    "500": "A fault of the collector: its operator finds the cause in the log",
    "503": "Overloaded, stopping, or the database can't be read: ask again after Retry-After",
}
_EVERYWHERE = ("405", "429", "500", "503")

_KEY = "key"


def add_ingest(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with devices' routes, and one shape for every error of every route."""
    (batch, result, retractions, receipt, problem), components = msgspec.json.schema_components(
        [Batch, BatchResult, RetractionBatch, RetractionReceipt, Problem],
        ref_template="#/components/schemas/{name}",
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas.update(components)
    errors = {status: _error(status, what, problem) for status, what in _DEVICE_PROBLEMS.items()}
    document["components"]["securitySchemes"] = {
        _KEY: {"type": "http", "scheme": "bearer", "description": "a key of `rumor keys create`"}
    }
    for path, operations in document["paths"].items():
        for operation in operations.values():
            # A collector may be open, so a key may also be left out.
            operation["security"] = [{_KEY: []}, {}] if wanted_scope(path) else [{}]
            operation["responses"].pop("422", None)
            for status in _readers_statuses(path, operation):
                operation["responses"][status] = _error(status, _READER_PROBLEMS[status], problem)
    document["paths"][REPORTS_PATH] = _post(
        batch,
        result,
        errors,
        operationId="send_reports",
        summary="Count the reports of one device and day",
        description="Answers after the commit is durable, with a verdict for each report. "
        "Content-Encoding may be gzip. Sending the same bytes again is always safe.",
    )
    document["paths"][RETRACTIONS_PATH] = _post(
        retractions,
        receipt,
        errors,
        operationId="retract_reports",
        summary="Take back reports of one device and day",
        description="Subtracts each report that was counted, once, if every field is as it was "
        "sent. Its budget is not given back. Sending the same bytes again is always safe.",
    )
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _illustrate(operation, REQUESTS.get((method, path)), answers()[method, path])
    return document


def _readers_statuses(path: str, operation: dict[str, Any]) -> list[str]:
    """Return the errors that a route for readers can answer with."""
    found = {*_EVERYWHERE}
    if wanted_scope(path):
        found |= {"401", "403"}
    if "{metric}" in path:
        found |= {"400", "404"}
    if "requestBody" in operation:
        found |= {"408", "413", "415"}
    return sorted(found)


def _error(status: str, what: str, schema: dict[str, Any]) -> dict[str, Any]:
    example = msgspec.to_builtins(document_of(int(status), what))
    return {"description": what, "content": {PROBLEM: {"schema": schema, "example": example}}}


def _illustrate(operation: dict[str, Any], request: Any, answer: dict[str, Any]) -> None:
    """Add what parameters, the body and the answer look like."""
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in PARAMETERS:
            parameter["example"] = PARAMETERS[parameter["name"]]
    if request is not None:
        # MessagePack is bytes, which a document of text can't show.
        operation["requestBody"]["content"][JSON]["example"] = request
    content = operation["responses"]["200"].setdefault("content", {})
    for kind, example in answer.items():
        content.setdefault(kind, {})["example"] = example


def _post(
    sent: dict[str, Any], answer: dict[str, Any], errors: dict[str, Any], **words: str
) -> dict[str, Any]:
    return {
        "post": {
            "tags": ["device"],
            **words,
            "security": [{_KEY: []}, {}],
            "requestBody": {
                "required": True,
                "content": {JSON: {"schema": sent}, MSGPACK: {"schema": sent}},
            },
            "responses": {
                "200": {
                    "description": "A verdict for each, in their order",
                    "content": {JSON: {"schema": answer}},
                },
                **errors,
            },
        }
    }
