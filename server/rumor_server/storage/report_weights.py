"""The weights of counted reports in the operator's tables: noted by a process, added by day."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import date

from rumor_server.ingestion.screening import Charge, Result, ScreenedBatch
from rumor_server.statistics.authenticity.report_weights import WeightCounts, weigh
from rumor_server.statistics.authenticity.weight_law import WeightLaw, weight_law
from rumor_server.storage.operator_tables import Control
from rumor_shared.metric import Metric
from rumor_shared.wire import Verdict


class ReportWeights:
    """The weights of this process's counted reports, until `write` adds them to the database.

    A process that is killed loses what it saw since: `reports` says how many were weighed.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._laws: dict[tuple[str, int], WeightLaw | None] = {}
        self._seen: dict[tuple[str, int, date], WeightCounts] = {}
        # Reports are weighed on the event loop and written from another thread.
        self._lock = threading.Lock()

    def observe(self, batch: ScreenedBatch, results: Sequence[Result]) -> None:
        """Note the weights of those reports of a batch that were accepted."""
        payloads: dict[Charge, list[bytes]] = {}
        for report, charge, result in zip(batch.reports, batch.outcomes, results, strict=True):
            if result.verdict is Verdict.ACCEPTED and isinstance(charge, Charge):
                payloads.setdefault(charge, []).append(report.payload)
        for charge, of_metric in payloads.items():
            law = self._law(charge.metric)
            if law is not None:
                place = (charge.metric.name, charge.metric.revision, batch.day)
                self._add({place: weigh(of_metric, law)})

    def _add(self, found: Mapping[tuple[str, int, date], WeightCounts]) -> None:
        with self._lock:
            for place, counts in found.items():
                self._seen[place] = self._seen.get(place, WeightCounts()) + counts

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


def read_weights(control: Control, metric: Metric, first: date, last: date) -> WeightCounts:
    """Return the weights of a metric's revision over the days from `first` to `last`."""
    with control.transaction(reads_only=True) as statements:
        # CAST, because PostgreSQL sums BIGINT to NUMERIC.
        rows = statements.rows(
            "SELECT CAST(coalesce(sum(reports), 0) AS BIGINT), "
            "CAST(coalesce(sum(light), 0) AS BIGINT), CAST(coalesce(sum(heavy), 0) AS BIGINT) "
            "FROM control_shapes WHERE metric = ? AND revision = ? AND day BETWEEN ? AND ?",
            (metric.name, metric.revision, first.toordinal(), last.toordinal()),
        )
    return WeightCounts(*rows[0])
