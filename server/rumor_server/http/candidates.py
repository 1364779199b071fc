"""Candidates of an open domain in a body, since thousands of them outgrow an address."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rumor_server.errors import BadRequest, UnsupportedMedia
from rumor_server.http.body import media_type, read_body
from rumor_server.queries.candidate_lists import MAX_CANDIDATES
from rumor_shared.text import MAX_TEXT_BYTES
from rumor_shared.wire import JSON

# 10^5 candidates of 80 bytes.
MAX_BODY_BYTES = 8 << 20


class Candidates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts to look for."""

    candidates: Annotated[
        list[Annotated[str, Meta(max_length=MAX_TEXT_BYTES)]], Meta(max_length=MAX_CANDIDATES)
    ]


_DECODER = msgspec.json.Decoder(Candidates)


def request_body() -> dict[str, Any]:
    """Return the OpenAPI description of the body."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": _schema()}}}}


def _schema() -> dict[str, Any]:
    schema = msgspec.json.schema(Candidates)
    return dict(schema["$defs"][Candidates.__name__])


async def read_candidates(request: Request, seconds: float) -> list[str]:
    """Return the candidates in a request's body.

    Raises BadRequest if it isn't `{"candidates": ["...", ...]}`, else as `read_body`.
    """
    if media_type(request.headers) != JSON:
        raise UnsupportedMedia(f"send {JSON}")
    body = await read_body(request.receive, request.headers, seconds, MAX_BODY_BYTES)
    return await run_in_threadpool(_decode, body)


def _decode(body: bytes) -> list[str]:
    try:
        found = _DECODER.decode(body).candidates
    except msgspec.DecodeError:
        raise BadRequest(
            'the body is not {"candidates": ["...", ...]} with at most '
            f"{MAX_CANDIDATES} texts of at most {MAX_TEXT_BYTES} characters",
        ) from None
    # msgspec lets a repeated key pass. A second parse holds the interpreter while reports wait, so
    # it is only for a body that could have one: the key is there twice, or written with escapes.
    if body.count(b'"candidates"') == 1 and b"\\" not in body:
        return found
    # What is decoded holds no other object than the outermost.
    json.loads(body, object_pairs_hook=_refuse_repeated)
    return found


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1:
        raise BadRequest("body.candidates: is given twice; give it once")
