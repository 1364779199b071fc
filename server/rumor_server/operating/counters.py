"""What one process counts of itself while it runs, for `/metrics`; nothing is of one device."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date

from rumor_server.storage.store import Result

# Seconds. A commit on a good disk takes some 5 ms; 10 s is the client's patience.
LATENCY_BOUNDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Clocks that are further off than this are told together: a label for each day would be endless.
_MOST_DAYS = 90


class Counters:
    """Verdicts, the days of batches, how long commits take and how long the queue is."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._waiting: dict[object, tuple[float, int]] = {}
        self.verdicts: Counter[tuple[str, str]] = Counter()
        self.day_offsets: Counter[int] = Counter()
        self.refused: Counter[int] = Counter()
        # One more than the bounds: what took longer than the last.
        self.latencies = [0] * (len(LATENCY_BOUNDS) + 1)
        self.latency_sum = 0.0

    @contextmanager
    def waiting(self, reports: int) -> Iterator[None]:
        """Count a batch as waiting for its commit within the context."""
        ticket, start = object(), self._seconds()
        self._waiting[ticket] = (start, reports)
        try:
            yield
        finally:
            del self._waiting[ticket]
            took = self._seconds() - start
            self.latencies[bisect_left(LATENCY_BOUNDS, took)] += 1
            self.latency_sum += took

    def results(self, day: date, today: date, results: Sequence[Result]) -> None:
        """Count what was decided of a batch of `day`."""
        offset = max(-_MOST_DAYS, min((day - today).days, _MOST_DAYS))
        self.day_offsets[offset] += len(results)
        for result in results:
            self.verdicts[result.verdict.value, result.reason.value if result.reason else ""] += 1

    @property
    def waiting_reports(self) -> int:
        """How many reports wait for their commit."""
        return sum(reports for _, reports in self._waiting.values())

    @property
    def waiting_seconds(self) -> float:
        """How long the report that waits longest has waited; 0 where none waits."""
        if not self._waiting:
            return 0.0
        # A dict keeps the order of insertion, so the first one is the oldest.
        start, _ = next(iter(self._waiting.values()))
        return self._seconds() - start
