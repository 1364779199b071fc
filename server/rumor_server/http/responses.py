"""Answers to readers, for the API and the pages alike: form, entity tag, and rows a part at a time.

Content negotiation is RFC 9110, section 12.5.1; conditional requests are its section 13; the links
between parts are RFC 8288. What every answer tells a browser stands in `security_headers`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

# An open domain takes at most 10^5 candidates, and no registry lists more values.
MAX_ROWS = 100_000

# An entity tag holds no quote; the list may hold commas within tags, so it isn't split at them.
# A proxy that compresses makes a tag weak (nginx) or names the coding in it: `"x-gzip"` (Apache),
# `"x;gzip"` (older ones), `"x--gzip"` (Jetty), `"x-br"`. The reader has the same content.
_TAG = re.compile(r'(?:W/)?"([^"]*?)(?:(?:--?|;)(?:gzip|br|zstd|deflate))?"')


def preferred(accept: str, *kinds: str) -> str:
    """Return which of some media types an Accept header asks for with the most weight.

    The first is meant where all are as good, and by wildcards; an unreadable weight counts as 0.
    """
    weights = _weights(accept)
    first, *others = kinds
    wildcards = weights.get(first.partition("/")[0] + "/*", weights.get("*/*", 0.0))
    best, weight = first, weights.get(first, wildcards)
    for kind in others:
        if weights.get(kind, 0.0) > weight:
            best, weight = kind, weights[kind]
    return best


def _weights(accept: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for part in accept.lower().split(","):
        kind, *parameters = (word.strip() for word in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        weights[kind] = weight
    return weights


def conditional(
    request: Request,
    content: bytes,
    media_type: str,
    headers: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    """Return `content` under its tag, or 304 without it where the reader has it already.

    Caches must ask each time: counts change at any moment, and who may read them too.
    """
    tag = hashlib.sha256(content).hexdigest()
    sent = {"ETag": f'"{tag}"', "Cache-Control": "no-cache", **(headers or {})}
    if status == 200 and request.method == "GET" and _has_already(request, tag):
        return Response(status_code=304, headers=sent)
    return Response(content, status, media_type=media_type, headers=sent)


def _has_already(request: Request, tag: str) -> bool:
    """Return whether If-None-Match names this tag, weakly compared, or any tag by `*`."""
    given = ", ".join(request.headers.getlist("if-none-match"))
    return given.strip() == "*" or tag in _TAG.findall(given)


def next_link(query: QueryParams, rows: int, limit: int | None, offset: int) -> dict[str, str]:
    """Return the header that leads to the next part of `rows`, or none after the last.

    The address is relative, so that it stays true behind a proxy, and asks for everything else as
    `query` did.
    """
    if limit is None or offset + limit >= rows:
        return {}
    others = [pair for pair in query.multi_items() if pair[0] not in ("limit", "offset")]
    where = urlencode([*others, ("limit", limit), ("offset", offset + limit)])
    return {"Link": f'<?{where}>; rel="next"'}
