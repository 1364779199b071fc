"""`POST /v1/retractions`: take back reports that a device still holds, each at most once."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from rumor_server.http.device_route import DeviceRoute
from rumor_server.ingestion.batch import decode_retractions
from rumor_server.ingestion.retraction import RetractionResult, Retractions, screen_retractions
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.store import Store
from rumor_server.storage.writer import Writer
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


class Retract(DeviceRoute):
    """The ASGI application of the route that takes reports back."""

    def __init__(
        self,
        registry: Registry,
        writer: Writer,
        receipts: Receipts,
        today: Callable[[], date],
        body_seconds: float,
    ) -> None:
        super().__init__(body_seconds)
        self._max_age_days = registry.max_age_days
        self._writer = writer
        self._receipts = receipts
        self._today = today

    async def reply(self, body: bytes, kind: str) -> bytes:
        """Return the verdicts, after the writer subtracted what they grant."""
        batch = decode_retractions(body, kind)
        server_day = self._today()
        sent = screen_retractions(batch, server_day, self._max_age_days)
        results: list[RetractionResult] = []
        if sent.reports:
            work = partial(_retract, sent, self._receipts)
            results = await self._writer.call(work, weight=len(sent.reports))
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


def _retract(sent: Retractions, receipts: Receipts, store: Store) -> list[RetractionResult]:
    # A crash before the receipts leaves a retraction that nobody was told of; sent again, it hears
    # `already` and its receipt is written then.
    withdrawal = store.retract([sent])
    receipts.append(withdrawal.receipts)
    return withdrawal.results[0]
