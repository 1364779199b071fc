"""`POST /v1/reports`, as near to bare ASGI as it gets: all other routes are idle by comparison.

Routing, validation and serialisation of a framework would cost more than the decoding, hashing and
counting of a report. The OpenAPI document takes its schema from the structs that decode here, so
it can't say anything else.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import date
from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rumor_server.admission import Charges, screen_batch
from rumor_server.batch import Batch, decode_batch
from rumor_server.body import Disconnected, media_type, read_body
from rumor_server.errors import log_fault
from rumor_server.problem import problem, problem_of
from rumor_server.store import Result
from rumor_server.writer import Writer
from rumor_shared.registry import Registry
from rumor_shared.wire import JSON, Reason, Verdict

log = logging.getLogger(__name__)


class ReportResult(msgspec.Struct, frozen=True, gc=False):
    """What was decided of one report."""

    id: Annotated[str, Meta(min_length=24, max_length=24, description="16 bytes, base64")]
    verdict: Verdict
    reason: Reason | None
    detail: str | None


class BatchResult(msgspec.Struct, frozen=True):
    """What was decided of each report, in their order, after the commit is durable."""

    results: list[ReportResult]
    server_day: Annotated[str, Meta(description="the server's UTC day")]


class Ingest:
    """The ASGI application of the one route that devices call."""

    def __init__(
        self,
        registry: Registry,
        writer: Writer,
        today: Callable[[], date],
        body_seconds: float,
    ) -> None:
        self._charges = Charges(registry)
        self._max_age_days = registry.max_age_days
        self._writer = writer
        self._today = today
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            response = await self._answer(scope, receive)
        except Disconnected:
            return
        except Exception as error:
            response = problem_of(error)
            if response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
                log_fault(log, "a batch", error)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "POST":
            return problem(405, "reports are sent with POST", {"Allow": "POST"})
        headers = Request(scope).headers
        kind = media_type(headers)
        body = await read_body(receive, headers, self._body_seconds)
        batch = decode_batch(body, kind)
        server_day = self._today()
        screened = screen_batch(batch, self._charges, server_day, self._max_age_days)
        results = await self._writer.submit(screened) if batch.reports else []
        return Response(_encode(batch, results, server_day), media_type=JSON)


_ENCODER = msgspec.json.Encoder()


def _encode(batch: Batch, results: Sequence[Result], server_day: date) -> bytes:
    return _ENCODER.encode(
        BatchResult(
            [
                ReportResult(
                    b64encode(report.id).decode(), result.verdict, result.reason, result.detail
                )
                for report, result in zip(batch.reports, results, strict=True)
            ],
            server_day.isoformat(),
        )
    )
