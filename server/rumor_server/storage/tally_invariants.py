"""What every tally of reports obeys: one that doesn't was damaged, and no number is made of it."""

from __future__ import annotations

import numpy as np

from rumor_server.errors import StoreError
from rumor_server.statistics.tally import Tally
from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms.krr import Krr
from rumor_shared.mechanisms.subset import Subset


class DamagedTally(StoreError):
    """The tally of `metric` holds what no reports can have brought."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        super().__init__(
            f"{metric}: its tally holds what no reports can have brought; the database is damaged: "
            "restore a backup"
        )


def check_tally(metric: str, mechanism: Mechanism, tally: Tally) -> None:
    """Raise DamagedTally unless each cell counts some of the reports, and all cells what they must.

    A report of krr is in one cell, one of subset selection in as many as its set has values.
    """
    reports, counts = tally.reports[:, None], tally.counts
    sound = bool((counts >= 0).all() and (counts <= reports).all())
    cells = _cells_of_a_report(mechanism)
    if sound and cells is not None:
        sound = bool(np.array_equal(counts.sum(axis=1), cells * tally.reports))
    if not sound:
        raise DamagedTally(metric)


def _cells_of_a_report(mechanism: Mechanism) -> int | None:
    if isinstance(mechanism, Krr):
        return 1
    return mechanism.size if isinstance(mechanism, Subset) else None
