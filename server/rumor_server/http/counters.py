"""What one process counts of itself while it runs, for `/metrics`; nothing is of one device."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date

from rumor_server.ingestion.screening import Result

# Seconds. A commit on a good disk takes some 5 ms; 10 s is the client's patience.
LATENCY_BOUNDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Clocks that are further off than this are told together: a label for each day would be endless.
_MOST_DAYS = 90


class Counters:
    """Verdicts, the days of batches, how long commits take and how long the queue is."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._waiting: dict[_Waiting, float] = {}
        self.verdicts: Counter[tuple[str, str]] = Counter()
        self.day_offsets: Counter[int] = Counter()
        self.refused: Counter[int] = Counter()
        # One more than the bounds: what took longer than the last.
        self.latencies = [0] * (len(LATENCY_BOUNDS) + 1)
        self.latency_sum = 0.0

    def waiting(self, reports: int) -> _Waiting:
        """Return a context within which a batch counts as waiting for its commit."""
        return _Waiting(self, reports)

    def results(self, day: date, today: date, results: Sequence[Result]) -> None:
        """Count what was decided of a batch of `day`."""
        offset = max(-_MOST_DAYS, min((day - today).days, _MOST_DAYS))
        self.day_offsets[offset] += len(results)
        for result in results:
            self.verdicts[result.verdict, result.reason or ""] += 1

    @property
    def waiting_reports(self) -> int:
        """How many reports wait for their commit."""
        # Copied at once: another thread asks while the event loop adds and removes.
        return sum(one.reports for one in list(self._waiting))

    @property
    def waiting_seconds(self) -> float:
        """How long the report that waits longest has waited; 0 where none waits."""
        # A dict keeps the order of insertion, so the first one is the oldest.
        starts = list(self._waiting.values())
        return self._seconds() - starts[0] if starts else 0.0

    def _start(self, waiting: _Waiting) -> None:
        self._waiting[waiting] = self._seconds()

    def _stop(self, waiting: _Waiting) -> None:
        took = self._seconds() - self._waiting.pop(waiting)
        self.latencies[bisect_left(LATENCY_BOUNDS, took)] += 1
        self.latency_sum += took


class _Waiting:
    """A class: a generator's context takes three times as long, and every request has one."""

    __slots__ = ("_counters", "reports")

    def __init__(self, counters: Counters, reports: int) -> None:
        self._counters = counters
        self.reports = reports

    def __enter__(self) -> None:
        self._counters._start(self)

    def __exit__(self, *_: object) -> None:
        self._counters._stop(self)
