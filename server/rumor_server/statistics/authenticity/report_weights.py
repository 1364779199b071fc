"""Look at each counted report's weight once, and keep how many were too light or too heavy.

Nothing is refused for its shape: an honest report is odd now and then, and to drop those would bend
the estimate. The counts stand beside the estimate, summed by day like a tally.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from rumor_server.ingestion.screening import Charge, Result, ScreenedBatch
from rumor_server.statistics.authenticity.weight_law import WeightLaw, weight_law
from rumor_server.storage.operator_tables import Control
from rumor_shared.metric import Metric
from rumor_shared.wire import Verdict


@dataclass(frozen=True, slots=True)
class ShapeCounts:
    """How many reports were looked at, and how many of them set too few or too many bits."""

    reports: int = 0
    light: int = 0
    heavy: int = 0

    def __add__(self, other: ShapeCounts) -> ShapeCounts:
        """Return the counts of both."""
        return ShapeCounts(
            self.reports + other.reports, self.light + other.light, self.heavy + other.heavy
        )


class ReportShapes:
    """The shapes of this process's counted reports, until `write` adds them to the database.

    A process that is killed loses what it looked at since: `reports` says how many were looked at.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._laws: dict[tuple[str, int], WeightLaw | None] = {}
        self._seen: dict[tuple[str, int, date], ShapeCounts] = {}
        # Reports are looked at on the event loop and written from another thread.
        self._lock = threading.Lock()

    def look_at(self, batch: ScreenedBatch, results: Sequence[Result]) -> None:
        """Note the shapes of those reports of a batch that were accepted."""
        payloads: dict[int, list[bytes]] = {}
        metrics: dict[int, Metric] = {}
        for report, charge, result in zip(batch.reports, batch.outcomes, results, strict=True):
            if result.verdict is Verdict.ACCEPTED and isinstance(charge, Charge):
                one = id(charge)
                if one not in metrics:
                    metrics[one] = charge.metric
                    payloads[one] = []
                payloads[one].append(report.payload)
        for one, metric in metrics.items():
            law = self._law(metric)
            if law is None:
                continue
            weights = [int.from_bytes(payload, "little").bit_count() for payload in payloads[one]]
            light = sum(weight < law.least for weight in weights)
            heavy = sum(weight > law.most for weight in weights)
            counts = ShapeCounts(len(weights), light, heavy)
            self._add({(metric.name, metric.revision, batch.day): counts})

    def _add(self, found: Mapping[tuple[str, int, date], ShapeCounts]) -> None:
        with self._lock:
            for place, counts in found.items():
                self._seen[place] = self._seen.get(place, ShapeCounts()) + counts

    def _law(self, metric: Metric) -> WeightLaw | None:
        # By name: to hash a mechanism is to hash all of its values, for each report of 500.
        key = (metric.name, metric.revision)
        if key not in self._laws:
            self._laws[key] = weight_law(metric.mechanism)
        return self._laws[key]

    def write(self) -> None:
        """Add what was seen since the last call to the database. Raises StoreUnavailable."""
        with self._lock:
            seen, self._seen = self._seen, {}
        if not seen:
            return
        try:
            with self._control.transaction() as statements:
                for (name, revision, day), counts in sorted(seen.items()):
                    statements.run(
                        "INSERT INTO control_shapes VALUES (?, ?, ?, ?, ?, ?) "
                        "ON CONFLICT (metric, revision, day) DO UPDATE SET "
                        "reports = control_shapes.reports + excluded.reports, "
                        "light = control_shapes.light + excluded.light, "
                        "heavy = control_shapes.heavy + excluded.heavy",
                        (
                            name,
                            revision,
                            day.toordinal(),
                            counts.reports,
                            counts.light,
                            counts.heavy,
                        ),
                    )
        except BaseException:
            self._add(seen)
            raise


def read_shapes(control: Control, metric: Metric, first: date, last: date) -> ShapeCounts:
    """Return the shapes of a metric's revision over the days from `first` to `last`."""
    with control.transaction(reads_only=True) as statements:
        # CAST, because PostgreSQL sums BIGINT to NUMERIC.
        rows = statements.rows(
            "SELECT CAST(coalesce(sum(reports), 0) AS BIGINT), "
            "CAST(coalesce(sum(light), 0) AS BIGINT), CAST(coalesce(sum(heavy), 0) AS BIGINT) "
            "FROM control_shapes WHERE metric = ? AND revision = ? AND day BETWEEN ? AND ?",
            (metric.name, metric.revision, first.toordinal(), last.toordinal()),
        )
    return ShapeCounts(*rows[0])
