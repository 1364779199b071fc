"""`/metrics` in Prometheus' text format: every name is declared here, and no other is sent.

What begins with `rumor_database_` is read from the database and is the same on every process; all
else is of the process that answers, since it began. Each process is scraped by its own address.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from rumor_server.errors import StoreError
from rumor_server.http.counters import LATENCY_BOUNDS, Counters
from rumor_server.operations.readiness import Question
from rumor_server.storage.figures import Figures, read_figures
from rumor_server.storage.operator_tables import Control
from rumor_shared.version import __version__

# The names and labels here are what this version allows; later ones quote those of other scripts.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# What a database that isn't ready is waited for beyond the question whether it is: together they
# end within the ten seconds that Prometheus gives a scrape.
_LATER_SECONDS = 1.0

log = logging.getLogger(__name__)


class Family(NamedTuple):
    """A metric of the collector: its type in Prometheus' words, and what it means."""

    kind: str
    meaning: str


FAMILIES: Mapping[str, Family] = {
    "rumor_info": Family("gauge", "1, with the version and the registry's SHA-256 as labels"),
    "rumor_ready": Family("gauge", "1 if this process takes reports"),
    "rumor_verdicts_total": Family("counter", "reports by verdict and reason"),
    "rumor_refused_requests_total": Family("counter", "requests refused at the door, by status"),
    "rumor_day_offset_reports_total": Family(
        "counter", "reports by the days that their day is after the server's: skewed clocks"
    ),
    "rumor_queue_reports": Family("gauge", "reports that wait for their commit"),
    "rumor_queue_age_seconds": Family("gauge", "how long the one that waits longest has waited"),
    "rumor_commit_seconds": Family(
        "histogram", "from a batch's arrival in the queue to its commit"
    ),
    "rumor_disk_free_bytes": Family("gauge", "free on the disk of the SQLite file"),
    "rumor_database_counted_reports": Family(
        "gauge",
        "reports in the tallies, by metric and revision; in tenths below min_reports",
    ),
    "rumor_database_closed_days_ago": Family("gauge", "days since the last closed day"),
    "rumor_database_past_retention_days": Family(
        "gauge", "days by which the oldest id, spend or key outlived max_age_days; 0 is right"
    ),
}

Sample = tuple[str, Mapping[str, str], float]


class PrometheusPage(Collector):
    """Writes the page of one process, whether or not the database answers.

    Where it doesn't, `rumor_ready` is 0 and what only the database knows has no samples.
    """

    def __init__(
        self,
        control: Control,
        counters: Counters,
        registry_sha256: str,
        max_age_days: int,
        today: Callable[[], date],
        is_ready: Callable[[], bool],
        rough_count: Callable[[str, int], int] = lambda metric, count: count,
    ) -> None:
        self._control = control
        self._counters = counters
        self._sha256 = registry_sha256
        self._max_age_days = max_age_days
        self._today = today
        self._is_ready = is_ready
        self._figures = Question(lambda: read_figures(control))
        self._rough_count = rough_count
        # Of its own, so that what other libraries of the process declare is not sent.
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """Return the page."""
        return generate_latest(self._registry)

    def describe(self) -> Iterator[Metric]:
        """Return every family, without samples."""
        return iter(families(()))

    def collect(self) -> Iterator[Metric]:
        """Return every family with the samples of now."""
        self._figures.begin()
        is_ready = self._is_ready()
        try:
            figures = self._figures.answer(None if is_ready else _LATER_SECONDS)
            of_database = [*self._of_database(figures)]
        except StoreError as error:
            log.warning("the database's figures can't be read: %s", error)
            of_database = []
        return iter(families((*self._of_process(is_ready), *of_database)))

    def _of_process(self, is_ready: bool) -> Iterator[Sample]:
        counters = self._counters
        yield "rumor_info", {"version": __version__, "registry": self._sha256}, 1
        yield "rumor_ready", {}, is_ready
        for (verdict, reason), count in sorted(counters.verdicts.items()):
            yield "rumor_verdicts_total", {"verdict": verdict, "reason": reason}, count
        for status, count in sorted(counters.refused.items()):
            yield "rumor_refused_requests_total", {"status": str(status)}, count
        for days, count in sorted(counters.day_offsets.items()):
            yield "rumor_day_offset_reports_total", {"days": str(days)}, count
        yield "rumor_queue_reports", {}, counters.waiting_reports
        yield "rumor_queue_age_seconds", {}, counters.waiting_seconds
        total = 0
        for bound, count in zip((*LATENCY_BOUNDS, None), counters.latencies, strict=True):
            total += count
            le = "+Inf" if bound is None else f"{bound:g}"
            yield "rumor_commit_seconds_bucket", {"le": le}, total
        yield "rumor_commit_seconds_sum", {}, counters.latency_sum
        yield "rumor_commit_seconds_count", {}, total
        settings = self._control.settings
        if not settings.database_url:
            folder = Path(settings.database).absolute().parent
            yield "rumor_disk_free_bytes", {}, shutil.disk_usage(folder).free

    def _of_database(self, figures: Figures) -> Iterator[Sample]:
        for (metric, revision), count in sorted(figures.counted.items()):
            labels = {"metric": metric, "revision": str(revision)}
            yield "rumor_database_counted_reports", labels, self._rough_count(metric, count)
        today = self._today()
        if figures.closed_through is not None:
            yield "rumor_database_closed_days_ago", {}, (today - figures.closed_through).days
        past = 0
        if figures.oldest_kept is not None:
            last = today - timedelta(days=self._max_age_days)
            past = max(0, (last - figures.oldest_kept).days)
        yield "rumor_database_past_retention_days", {}, past


def families(samples: Iterable[Sample]) -> list[Metric]:
    """Return every declared family with its samples, in the order of the declarations."""
    # The library adds the ending of a counter itself, and knows a family by its name without it.
    found = {
        name: Metric(name.removesuffix("_total"), family.meaning, family.kind)
        for name, family in FAMILIES.items()
    }
    for name, labels, value in samples:
        family = name if name in FAMILIES else name.rpartition("_")[0]
        found[family].add_sample(name, dict(labels), value)
    return list(found.values())
