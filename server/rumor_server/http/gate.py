"""Between a decoded batch and the writer: what its key may still send, and what is counted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from rumor_server.http.authentication import current_key
from rumor_server.http.counters import Counters
from rumor_server.http.quota import KeyLimits
from rumor_server.statistics.authenticity.report_weights import ReportShapes
from rumor_server.storage.store import Result, ScreenedBatch
from rumor_server.storage.writer import Writer
from rumor_shared.wire import Verdict


class Gate:
    """Submits batches to the writer within the day's limit of the key that sent them."""

    def __init__(
        self,
        writer: Writer,
        limits: KeyLimits,
        counters: Counters,
        shapes: ReportShapes,
        today: Callable[[], date],
    ) -> None:
        self._writer = writer
        self._limits = limits
        self._counters = counters
        self._shapes = shapes
        self._today = today

    async def submit(self, batch: ScreenedBatch) -> list[Result]:
        """Return a result for each report, after they are durable.

        A report that isn't accepted costs its key nothing. Raises TooManyRequests, before anything
        is written, if the key may not send so many today; and what the writer raises.
        """
        key = current_key.get()
        reports = len(batch.reports)
        if key is not None:
            await self._limits.take_reports(key, reports)
        results: list[Result] = []
        try:
            with self._counters.waiting(reports):
                results = await self._writer.submit(batch)
        finally:
            if key is not None and key.day_reports:
                accepted = sum(result.verdict is Verdict.ACCEPTED for result in results)
                self._limits.give_back_reports(key, reports - accepted)
        self._counters.results(batch.day, self._today(), results)
        self._shapes.look_at(batch, results)
        return results
