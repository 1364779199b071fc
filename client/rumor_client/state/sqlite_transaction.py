"""The reads and writes of one transaction, as SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

from rumor_client.state.protocol import Identity, Size
from rumor_client.state.report import (
    DENIED,
    OVERHEAD_BYTES,
    Report,
    Sent,
    Waiting,
    rejection,
    unconfirmed,
)
from rumor_shared.budget import Account, Series
from rumor_shared.wire import Verdict

_REPORT = "id, day, metric, revision, cohort, payload, purpose"
_OF_SERIES = "epoch = ? AND metric = ? AND revision = ? AND cohorts = ?"
_EVER = ""


class SqliteTransaction:
    """A transaction under way; `SqliteState.transaction` begins and ends it.

    Its methods are those of `rumor_client.state.protocol.Transaction`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute
        self._run_many = connection.executemany

    def choices(self) -> Mapping[str, tuple[str, date]]:
        """Return the stored choices."""
        rows = self._run("SELECT purpose, choice, as_of FROM consent")
        return {purpose: (choice, date.fromisoformat(day)) for purpose, choice, day in rows}

    def choose(self, purpose: str, choice: str, as_of: date) -> None:
        """Store a choice."""
        self._run("REPLACE INTO consent VALUES (?, ?, ?)", (purpose, choice, as_of.isoformat()))

    def identity(self) -> Identity | None:
        """Return the secret and cohort."""
        row = self._run("SELECT secret, cohort, epoch FROM device").fetchone()
        return None if row[0] is None else Identity(*row)

    def adopt(self, secret: bytes, cohort: int) -> Identity:
        """Store a new secret and cohort."""
        self._run("UPDATE device SET epoch = epoch + 1, secret = ?, cohort = ?", (secret, cohort))
        (epoch,) = self._run("SELECT epoch FROM device").fetchone()
        return Identity(secret, cohort, epoch)

    def spent(self, accounts: Sequence[Account]) -> list[int]:
        """Return the totals."""
        sql = "SELECT spent FROM ledger WHERE scope = ? AND name = ? AND day = ?"
        rows = (self._run(sql, account).fetchone() for account in accounts)
        return [row[0] if row else 0 for row in rows]

    def charge(self, charges: Sequence[tuple[Account, int]]) -> None:
        """Add to each account."""
        self._run_many(
            "INSERT INTO ledger VALUES (?, ?, ?, ?)"
            " ON CONFLICT (scope, name, day) DO UPDATE SET spent = spent + excluded.spent",
            [(*account, amount) for account, amount in charges],
        )

    def reports(self, series: Series, day: date) -> tuple[int, int]:
        """Return how many reports, ever and on `day`."""
        sql = f"SELECT reports FROM series WHERE {_OF_SERIES} AND day = ?"  # noqa: S608 - constants
        ever = self._run(sql, (*series, _EVER)).fetchone()
        today = self._run(sql, (*series, day.isoformat())).fetchone()
        return ever[0] if ever else 0, today[0] if today else 0

    def count(self, series: Series, day: date) -> None:
        """Count one report."""
        self._run_many(
            "INSERT INTO series VALUES (?, ?, ?, ?, ?, 1)"
            " ON CONFLICT (epoch, metric, revision, cohorts, day)"
            " DO UPDATE SET reports = reports + 1",
            [(*series, _EVER), (*series, day.isoformat())],
        )

    def slots(self, series: Series) -> Collection[bytes]:
        """Return the tags."""
        rows = self._run(f"SELECT tag FROM memo WHERE {_OF_SERIES}", series)  # noqa: S608 - constants
        return {tag for (tag,) in rows}

    def last_permanent(self, series: Series) -> bytes:
        """Return the permanent answer of the slot that was filled last."""
        sql = f"SELECT answer FROM permanent WHERE {_OF_SERIES}"  # noqa: S608 - constants
        (answer,) = self._run(sql, series).fetchone()
        return bytes(answer)

    def fill_slot(self, series: Series, tag: bytes, permanent: bytes) -> None:
        """Store a tag and its permanent answer."""
        self._run("INSERT INTO memo VALUES (?, ?, ?, ?, ?)", (*series, tag))
        self._run("REPLACE INTO permanent VALUES (?, ?, ?, ?, ?)", (*series, permanent))

    def put(self, report: Report) -> None:
        """Append a report."""
        self._run(
            f"INSERT INTO outbox ({_REPORT}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constants
            _row(report),
        )
        self._resize(1, report.stored_bytes)

    def size(self) -> Size:
        """Return how much waits."""
        return Size(*self._run("SELECT outbox_reports, outbox_bytes FROM device").fetchone())

    def _resize(self, reports: int, stored: int) -> None:
        self._run(
            "UPDATE device SET outbox_reports = outbox_reports + ?,"
            " outbox_bytes = outbox_bytes + ?",
            (reports, stored),
        )

    def days(self) -> list[date]:
        """Return the days that have waiting reports."""
        rows = self._run("SELECT DISTINCT day FROM outbox ORDER BY day")
        return [date.fromisoformat(day) for (day,) in rows]

    def waiting(self, day: date | None, after: int, limit: int) -> list[Waiting]:
        """Return waiting reports, oldest first."""
        label = day and day.isoformat()
        rows = self._run(
            f"SELECT position, {_REPORT} FROM outbox"  # noqa: S608 - constants
            " WHERE position > ? AND (? IS NULL OR day = ?) ORDER BY position LIMIT ?",
            (after, label, label, limit),
        )
        return [Waiting(row[0], _report(row[1:])) for row in rows]

    def attempt(self, ids: Collection[bytes]) -> Collection[bytes]:
        """Mark waiting reports as on their way."""
        waiting = set()
        for report_id in ids:
            sql = "SELECT attempted FROM outbox WHERE id = ?"
            row = self._run(sql, (report_id,)).fetchone()
            if row is None:
                continue
            waiting.add(report_id)
            if not row[0]:
                self._run("UPDATE outbox SET attempted = 1 WHERE id = ?", (report_id,))
        return waiting

    def drop(self, ids: Collection[bytes], reason: str) -> int:
        """Remove and count refused reports."""
        dropped = sum(self._take(report_id) for report_id in ids)
        if dropped:
            self._count_drops(reason, dropped)
        return dropped

    def withdraw(self, ids: Collection[bytes], reason: str) -> int:
        """Remove and count waiting reports, keeping in the log what was on its way."""
        withdrawn = 0
        for report_id in ids:
            sql = "SELECT attempted FROM outbox WHERE id = ?"
            row = self._run(sql, (report_id,)).fetchone()
            if row is None:
                continue
            withdrawn += 1
            if row[0]:
                self._run(
                    f"INSERT INTO sent SELECT {_REPORT}, NULL, ? FROM outbox WHERE id = ?",  # noqa: S608 - constants
                    (reason, report_id),
                )
            self._take(report_id)
            self._count_drops(unconfirmed(reason) if row[0] else reason, 1)
        return withdrawn

    def _take(self, report_id: bytes) -> bool:
        row = self._run("SELECT length(payload) FROM outbox WHERE id = ?", (report_id,)).fetchone()
        if row is None:
            return False
        self._run("DELETE FROM outbox WHERE id = ?", (report_id,))
        self._resize(-1, -(row[0] + OVERHEAD_BYTES))
        return True

    def _count_drops(self, reason: str, reports: int) -> None:
        self._run(
            "INSERT INTO dropped VALUES (?, ?)"
            " ON CONFLICT (reason) DO UPDATE SET reports = reports + excluded.reports",
            (reason, reports),
        )
        self._run("DELETE FROM dropped WHERE reports = 0")

    def settle(self, sent: Sequence[Sent]) -> int:
        """Move answered reports to the sent log."""
        settled = 0
        for report, verdict, reason in sent:
            sql = "SELECT reason FROM sent WHERE id = ? AND verdict IS NULL"
            withdrawn = self._run(sql, (report.id,)).fetchone()
            if withdrawn is not None:
                self._count_drops(unconfirmed(withdrawn[0]), -1)
            elif not self._take(report.id):
                continue
            self._run(
                "REPLACE INTO sent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*_row(report), verdict and verdict.value, reason and str(reason)),
            )
            settled += 1
            if verdict is Verdict.REJECTED:
                self._count_drops(rejection(reason), 1)
        return settled

    def drops(self) -> Mapping[str, int]:
        """Return how many reports were dropped, by reason."""
        return dict(self._run("SELECT reason, reports FROM dropped"))

    def sent(self) -> list[Sent]:
        """Return the sent log."""
        rows = self._run(f"SELECT {_REPORT}, verdict, reason FROM sent")  # noqa: S608 - constants
        return [
            Sent(_report(row[:-2]), None if row[-2] is None else Verdict(row[-2]), row[-1])
            for row in rows
        ]

    def forget_sent(self, before: date) -> None:
        """Remove what is dated before a day."""
        limit = before.isoformat()
        counted = "verdict IN ('accepted', 'duplicate')"
        sql = f"SELECT count(*) FROM sent WHERE day < ? AND {counted}"  # noqa: S608 - constants
        (beyond,) = self._run(sql, (limit,)).fetchone()
        if beyond:
            self._run("UPDATE device SET beyond_recall = beyond_recall + ?", (beyond,))
        self._run("DELETE FROM sent WHERE day < ?", (limit,))

    def beyond_recall(self) -> int:
        """Return how many counted reports are too old to be retracted."""
        (reports,) = self._run("SELECT beyond_recall FROM device").fetchone()
        return int(reports)

    def unlog(self, ids: Collection[bytes]) -> None:
        """Remove reports from the sent log."""
        for report_id in ids:
            sql = "SELECT reason FROM sent WHERE id = ? AND verdict IS NULL"
            withdrawn = self._run(sql, (report_id,)).fetchone()
            if withdrawn is not None:
                self._count_drops(unconfirmed(withdrawn[0]), -1)
            self._run("DELETE FROM sent WHERE id = ?", (report_id,))
        self._run("UPDATE device SET erasure_pending = 1")

    def forget(self) -> None:
        """Delete the sent log and the counts of drops."""
        self._run("DELETE FROM sent")
        self._run("DELETE FROM dropped")
        self._run("UPDATE device SET beyond_recall = 0, erasure_pending = 1")

    def erase(self, purpose: str | None) -> None:
        """Delete the outbox, the memo and the secret."""
        rows = self._run("SELECT id FROM outbox WHERE ? IS NULL OR purpose = ?", (purpose, purpose))
        self.withdraw([report_id for (report_id,) in rows.fetchall()], DENIED)
        for table in ("memo", "permanent", "series"):
            self._run(f"DELETE FROM {table}")  # noqa: S608 - constants
        self._run("UPDATE device SET secret = NULL, cohort = NULL, erasure_pending = 1")


def _row(report: Report) -> tuple[Any, ...]:
    return (
        report.id,
        report.day.isoformat(),
        report.metric,
        report.revision,
        report.cohort,
        report.payload,
        report.purpose,
    )


def _report(row: Sequence[Any]) -> Report:
    report_id, day, metric, revision, cohort, payload, purpose = row
    return Report(
        bytes(report_id),
        date.fromisoformat(day),
        metric,
        revision,
        cohort,
        bytes(payload),
        purpose,
    )
