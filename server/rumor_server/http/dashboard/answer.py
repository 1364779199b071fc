"""One answer of the dashboard as a page, CSV or JSON."""

from __future__ import annotations

from enum import StrEnum

from starlette.requests import Request
from starlette.responses import Response

from rumor_server.errors import BadRequest
from rumor_server.http.parameters import refuse_repeats
from rumor_server.http.responses import conditional, preferred


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
            raise BadRequest(f"query.format: is not a format; write {', '.join(Format)}") from None
    accept = request.headers.get("accept", "*/*")
    kinds = {"text/html": Format.HTML, "application/json": Format.JSON, "text/csv": Format.CSV}
    return kinds[preferred(accept, *kinds)]


def answer(request: Request, format_: Format, body: str, name: str, status: int = 200) -> Response:
    """Return a body in its format; 304 where the reader has it already.

    `name` is what a downloaded file is called, without its ending.
    """
    headers = {"Vary": "Accept"}
    if format_ is Format.CSV:
        headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return conditional(request, body.encode(), MEDIA_TYPES[format_], headers, status)
