"""`POST /v1/retractions`: take back reports that a device still holds, each at most once."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import date
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from rumor_server.http.device_route import DeviceRoute
from rumor_server.ingestion.batch import decode_retractions
from rumor_server.ingestion.retraction import RetractionResult, Retractions, screen_retractions
from rumor_server.ingestion.screening import Charges
from rumor_shared.registry import Registry
from rumor_shared.wire import Retraction


class RetractionAnswer(msgspec.Struct, frozen=True, gc=False):
    """What was decided of one retraction."""

    id: Annotated[str, Meta(min_length=24, max_length=24, description="16 bytes, base64")]
    verdict: Retraction
    detail: str | None


class RetractionReceipt(msgspec.Struct, frozen=True):
    """What was decided of each, in their order, after it is durable in the database and outside."""

    results: list[RetractionAnswer]
    server_day: Annotated[str, Meta(description="the server's UTC day")]


class Retracts(Protocol):
    """What commits retractions: the writer, or what stands in front of it."""

    async def retract(self, batch: Retractions) -> list[RetractionResult]:
        """Return a result for each retraction, after they and their receipts are durable."""


class Retract(DeviceRoute):
    """The ASGI application of the route that takes reports back."""

    def __init__(
        self,
        registry: Registry,
        writer: Retracts,
        today: Callable[[], date],
        body_seconds: float,
        clock_in_doubt: Callable[[date], bool],
    ) -> None:
        super().__init__(body_seconds)
        self._charges = Charges(registry)
        self._clock_in_doubt = clock_in_doubt
        self._max_age_days = registry.max_age_days
        self._writer = writer
        self._today = today

    async def reply(self, body: bytes, kind: str) -> bytes:
        """Return the verdicts, after the writer subtracted what they grant."""
        batch = decode_retractions(body, kind)
        server_day = self._today()
        sent = screen_retractions(
            batch,
            self._charges,
            server_day,
            self._max_age_days,
            clock_in_doubt=self._clock_in_doubt(server_day),
        )
        results: list[RetractionResult] = []
        if sent.reports:
            results = await self._writer.retract(sent)
        return _ENCODER.encode(
            RetractionReceipt(
                [
                    RetractionAnswer(b64encode(report.id).decode(), result.verdict, result.detail)
                    for report, result in zip(sent.reports, results, strict=True)
                ],
                server_day.isoformat(),
            )
        )


_ENCODER = msgspec.json.Encoder()
