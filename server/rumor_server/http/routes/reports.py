"""`POST /v1/reports`: count the reports of one device and day."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import date
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from rumor_server.http.device_route import DeviceRoute
from rumor_server.ingestion.batch import Batch, decode_batch
from rumor_server.ingestion.screening import Charges, Result, ScreenedBatch, screen_batch
from rumor_shared.registry import Registry
from rumor_shared.wire import Reason, Verdict


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


class Submits(Protocol):
    """What commits a batch: the writer, or what stands in front of it."""

    async def submit(self, batch: ScreenedBatch) -> list[Result]:
        """Return a result for each report, after they are durable."""


class Ingest(DeviceRoute):
    """The ASGI application of the route that takes reports in."""

    def __init__(
        self,
        registry: Registry,
        writer: Submits,
        today: Callable[[], date],
        body_seconds: float,
        clock_in_doubt: Callable[[date], bool],
    ) -> None:
        super().__init__(body_seconds)
        self._clock_in_doubt = clock_in_doubt
        self._charges = Charges(registry)
        self._max_age_days = registry.max_age_days
        self._writer = writer
        self._today = today

    async def reply(self, body: bytes, kind: str) -> bytes:
        """Return the verdicts, after the writer committed what they grant."""
        batch = decode_batch(body, kind)
        server_day = self._today()
        screened = screen_batch(
            batch,
            self._charges,
            server_day,
            self._max_age_days,
            clock_in_doubt=self._clock_in_doubt(server_day),
        )
        results = await self._writer.submit(screened) if batch.reports else []
        return _encode(batch, results, server_day)


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
