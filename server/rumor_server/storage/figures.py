"""Figures that only the database knows: the same whichever process is asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date

from rumor_server.storage.operator_tables import Control


@dataclass(frozen=True)
class Figures:
    """Counted reports by (metric, revision), the last closed day, the oldest day of which ids and
    spend are still kept, and the newest day with a report.

    Days are None before there is one.
    """

    counted: dict[tuple[str, int], int]
    closed_through: date | None
    oldest_kept: date | None
    newest_day: date | None


def read_figures(control: Control) -> Figures:
    """Return the figures of now. Raises StoreUnavailable."""
    with control.transaction(reads_only=True) as statements:
        # On PostgreSQL what was counted last waits in `deltas` to be folded into `tallies`.
        tables = ("tallies", "deltas") if control.settings.database_url else ("tallies",)
        counted: Counter[tuple[str, int]] = Counter()
        for table in tables:
            # CAST, because PostgreSQL sums BIGINT to NUMERIC.
            for metric, revision, reports in statements.rows(
                "SELECT metric, revision, CAST(sum(reports) AS BIGINT) "  # noqa: S608 - our own names
                f"FROM {table} JOIN series USING (series) WHERE chunk = 0 GROUP BY metric, revision"
            ):
                counted[metric, revision] += reports
        ((closed,),) = statements.rows("SELECT max(closed_through) FROM collector")
        # Ids go in the same transaction as these, and finding their oldest would read them all.
        days = [
            statements.rows("SELECT min(day) FROM day_keys")[0][0],
            statements.rows("SELECT min(day) FROM spend")[0][0],
        ]
        newest = [
            statements.rows(f"SELECT max(day) FROM {table}")[0][0]  # noqa: S608 - our own names
            for table in tables
        ]
    kept, found = _known(days), _known(newest)
    return Figures(
        dict(counted),
        _day(closed),
        min(kept) if kept else None,
        max(found) if found else None,
    )


def oldest_id(control: Control) -> date | None:
    """Return the oldest day of which an id is kept, without its key too: that reads all of them.

    A restored database has ids of days whose keys were left out of the backup.
    """
    with control.transaction(reads_only=True) as statements:
        return _day(statements.rows("SELECT min(day) FROM ids")[0][0])


def _known(days: list[int | date | None]) -> list[date]:
    return [found for day in days if (found := _day(day)) is not None]


def _day(day: int | date | None) -> date | None:
    """Return a day as either database keeps it: an ordinal or a date; the first of all is none."""
    if isinstance(day, int):
        day = date.fromordinal(max(day, 1))
    return None if day == date.min else day
