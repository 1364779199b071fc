"""Answers that a reader who has them already need not load again (RFC 9110, section 13)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

# An entity tag holds no quote; the list may hold commas within tags, so it isn't split at them.
_TAG = re.compile(r'(?:W/)?("[^"]*")')


def etag_of(content: bytes) -> str:
    """Return the strong entity tag of a body: its SHA-256, quoted."""
    return f'"{hashlib.sha256(content).hexdigest()}"'


def has_already(request: Request, etag: str) -> bool:
    """Return whether If-None-Match names this tag, weakly compared, or any tag by `*`."""
    given = ", ".join(request.headers.getlist("if-none-match"))
    return given.strip() == "*" or etag in _TAG.findall(given)


def conditional(
    request: Request,
    content: bytes,
    media_type: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return `content` under its tag, or 304 without it where the reader has it already.

    Caches must ask each time: counts change at any moment, and who may read them too.
    """
    etag = etag_of(content)
    sent = {"ETag": etag, "Cache-Control": "no-cache", **(headers or {})}
    if request.method == "GET" and has_already(request, etag):
        return Response(status_code=304, headers=sent)
    return Response(content, media_type=media_type, headers=sent)
