"""One answer of the dashboard as a page, CSV or JSON, and the headers that all of them carry."""

from __future__ import annotations

import hashlib
from enum import StrEnum

from starlette.requests import Request
from starlette.responses import Response

from rumor_server.errors import BadRequest
from rumor_server.http.accept import accepted
from rumor_server.http.parameters import refuse_repeats


class Format(StrEnum):
    """What a permalink answers as."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"


MEDIA_TYPES = {
    Format.HTML: "text/html; charset=utf-8",
    Format.CSV: "text/csv; charset=utf-8",
    Format.JSON: "application/json",
}
# Nothing but our own style sheet, icon and forms: a page has no script at all, so that a value
# which looks like one can't run, and nothing is loaded from elsewhere.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def wanted_format(request: Request) -> Format:
    """Return the format of `format=`, or the heaviest of Accept; a page where all are as good.

    Raises BadRequest for a format that is none, or given twice.
    """
    refuse_repeats((name for name, _ in request.query_params.multi_items()), ("format",))
    named = request.query_params.get("format")
    if named:
        try:
            return Format(named)
        except ValueError:
            raise BadRequest(
                400, f"query.format: is not a format; write {', '.join(Format)}"
            ) from None
    weights = accepted(request.headers.get("accept", "*/*"))
    rest = weights.get("*/*", 0.0)
    page = max(weights.get("text/html", rest), weights.get("text/*", 0.0))
    best, weight = Format.HTML, page
    for format_, kind in ((Format.JSON, "application/json"), (Format.CSV, "text/csv")):
        if weights.get(kind, 0.0) > weight:
            best, weight = format_, weights[kind]
    return best


def answer(request: Request, format_: Format, body: str, name: str, status: int = 200) -> Response:
    """Return a body in its format; 304 where the reader has it already.

    `name` is what a downloaded file is called, without its ending.
    """
    content = body.encode()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {
        **SECURITY_HEADERS,
        "Cache-Control": "no-cache",
        "ETag": etag,
        "Vary": "Accept",
        "Content-Type": MEDIA_TYPES[format_],
    }
    if format_ is Format.CSV:
        headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    if status == 200 and etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, status_code=status, headers=headers)
