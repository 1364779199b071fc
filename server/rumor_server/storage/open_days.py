"""What is shown of open days, in the operator's tables: the same by every process, and after it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import date

import numpy as np

from rumor_server.statistics.tally import Tally
from rumor_server.storage.operator_tables import Control
from rumor_server.storage.tally_rows import INT64
from rumor_shared.mechanism import Mechanism
from rumor_shared.metric import Metric


@dataclass(frozen=True, eq=False)
class ShownDay:
    """What is shown of an open day, and the later tally that is shown next, if there is one.

    `step` counts the changes; `stepped` is the second since 1970 at which `shown` last changed.
    """

    shown: Tally
    waiting: Tally | None
    step: int
    stepped: int


class OpenDays:
    """The shown days of every metric."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def closed_through(self) -> date | None:
        """Return the last closed day, None before one was closed."""
        with self._control.transaction(reads_only=True) as statements:
            ((closed,),) = statements.rows("SELECT closed_through FROM collector")
        if isinstance(closed, date):
            return None if closed == date.min else closed
        return date.fromordinal(closed) if closed else None

    def read(self, metric: Metric, day: date) -> ShownDay | None:
        """Return what is shown of a day, None where nothing was ever stepped."""
        with self._control.transaction(reads_only=True) as statements:
            rows = statements.rows(
                "SELECT step, stepped, shown, waiting FROM control_open_days "
                "WHERE metric = ? AND revision = ? AND day = ?",
                (metric.name, metric.revision, day.toordinal()),
            )
        if not rows:
            return None
        ((step, stepped, shown, waiting),) = rows
        next_ = _unpacked(metric.mechanism, waiting) if waiting else None
        return ShownDay(_unpacked(metric.mechanism, shown), next_, step, stepped)

    def write(self, metric: Metric, day: date, shown: ShownDay) -> bool:
        """Store what is shown from now on; return False where another process was faster."""
        row = (
            *(metric.name, metric.revision, day.toordinal(), shown.step, shown.stepped),
            _packed(shown.shown),
            b"" if shown.waiting is None else _packed(shown.waiting),
        )
        with self._control.transaction() as statements:
            written = statements.rows(
                "INSERT INTO control_open_days VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (metric, revision, day) DO UPDATE SET step = excluded.step, "
                "stepped = excluded.stepped, shown = excluded.shown, waiting = excluded.waiting "
                "WHERE control_open_days.step < excluded.step RETURNING step",
                row,
            )
        return bool(written)

    def forget(self, through: date) -> None:
        """Delete what was shown of days up to `through`, which are closed and shown whole."""
        with self._control.transaction() as statements:
            statements.run("DELETE FROM control_open_days WHERE day <= ?", (through.toordinal(),))


def _packed(tally: Tally) -> bytes:
    numbers = np.concatenate([tally.reports, tally.counts.ravel()])
    return zlib.compress(numbers.astype(INT64).tobytes(), 1)


def _unpacked(mechanism: Mechanism, packed: bytes) -> Tally:
    numbers = np.frombuffer(zlib.decompress(packed), dtype=INT64).astype(np.int64)
    cohorts = mechanism.cohorts
    return Tally(numbers[:cohorts], numbers[cohorts:].reshape(cohorts, mechanism.cells))
