"""The SQL of a transaction: every read and write of the state file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from rumor_client.state.grant_file import GrantFile
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
_GRANTED, _DENIED = "granted", "denied"


# The row of `consent` that says: grants hold only while there is a grant file. No purpose is empty.
_MARK = ""


class Damaged(sqlite3.DatabaseError):
    """What is stored can't have been stored by us."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


class Connection(Protocol):
    """What a transaction asks of a connection."""

    def execute(self, sql: str, values: Any = ..., /) -> sqlite3.Cursor:
        """Run a statement."""

    def executemany(self, sql: str, rows: Any, /) -> sqlite3.Cursor:
        """Run a statement for each row."""


class SqliteTransaction:
    """A transaction under way; `SqliteState.transaction` begins and ends it.

    Its methods are those of `rumor_client.state.protocol.Transaction`. Raises Damaged where a sound
    file holds what no release has written.
    """

    def __init__(self, connection: Connection, grant_file: GrantFile) -> None:
        self._run = connection.execute
        self._run_many = connection.executemany
        self._grant_file = grant_file

    def choices(self) -> Mapping[str, tuple[str, date]]:
        """Return the stored choices; without the grant file a grant counts as withdrawn."""
        rows = self._run("SELECT purpose, choice, as_of FROM consent").fetchall()
        marked = any(purpose == _MARK for purpose, _, _ in rows)
        held = not marked or self._grant_file.exists()
        return {
            _text(purpose): (_choice(choice) if held else _DENIED, _day(day))
            for purpose, choice, day in rows
            if purpose != _MARK
        }

    def choose(self, purpose: str, choice: str, as_of: date) -> None:
        """Store a choice."""
        if choice == _GRANTED:
            if self.denial_pending():
                self.finish_denial()
            self._grant_file.make()
            self._choose(_MARK, _GRANTED, as_of.isoformat())
        self._choose(purpose, choice, as_of.isoformat())

    def _choose(self, purpose: str, choice: str, as_of: str) -> None:
        self._run("REPLACE INTO consent VALUES (?, ?, ?)", (purpose, choice, as_of))

    def denial_pending(self) -> bool:
        """Return whether grants are stored that the missing grant file withdrew."""
        return self._grants(marked=True) and not self._grant_file.exists()

    def finish_denial(self) -> None:
        """Store the denial for which there was no room, and delete what it covers."""
        sql = "UPDATE consent SET choice = ? WHERE purpose != ? AND choice = ?"
        self._run(sql, (_DENIED, _MARK, _GRANTED))
        self.erase(None)

    def grants_unmarked(self) -> bool:
        """Return whether grants are stored of a release that made no grant file."""
        return self._grants(marked=False)

    def renew_grants(self) -> None:
        """Make the grant file for such grants."""
        if self.grants_unmarked():
            (as_of,) = self._one("SELECT max(as_of) FROM consent")
            self._grant_file.make()
            self._choose(_MARK, _GRANTED, as_of)

    def _grants(self, *, marked: bool) -> bool:
        sql = (
            "SELECT EXISTS (SELECT 1 FROM consent WHERE purpose != ? AND choice = ?),"
            " EXISTS (SELECT 1 FROM consent WHERE purpose = ?)"
        )
        granted, mark = self._run(sql, (_MARK, _GRANTED, _MARK)).fetchone()
        return bool(granted) and bool(mark) == marked

    def identity(self) -> Identity | None:
        """Return the secret and cohort."""
        secret, cohort, epoch = self._one("SELECT secret, cohort, epoch FROM device")
        if secret is None:
            return None
        return Identity(_bytes(secret), _number(cohort), _number(epoch))

    def set_identity(self, secret: bytes, cohort: int) -> Identity:
        """Store a new secret and cohort."""
        self._run("UPDATE device SET epoch = epoch + 1, secret = ?, cohort = ?", (secret, cohort))
        (epoch,) = self._one("SELECT epoch FROM device")
        return Identity(secret, cohort, _number(epoch))

    def spent(self, accounts: Sequence[Account]) -> list[int]:
        """Return the totals."""
        sql = "SELECT spent FROM ledger WHERE scope = ? AND name = ? AND day = ?"
        rows = (self._run(sql, account).fetchone() for account in accounts)
        return [_number(row[0]) if row else 0 for row in rows]

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
        return _number(ever[0]) if ever else 0, _number(today[0]) if today else 0

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
        (answer,) = self._one(sql, series)
        return _bytes(answer)

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
        reports, stored = self._one("SELECT outbox_reports, outbox_bytes FROM device")
        return Size(_number(reports), _number(stored))

    def _resize(self, reports: int, stored: int) -> None:
        self._run(
            "UPDATE device SET outbox_reports = outbox_reports + ?,"
            " outbox_bytes = outbox_bytes + ?",
            (reports, stored),
        )

    def days(self) -> list[date]:
        """Return the days that have waiting reports."""
        rows = self._run("SELECT DISTINCT day FROM outbox ORDER BY day")
        return [_day(day) for (day,) in rows]

    def waiting(self, day: date | None, after: int, limit: int) -> list[Waiting]:
        """Return waiting reports, oldest first."""
        label = day and day.isoformat()
        rows = self._run(
            f"SELECT position, {_REPORT} FROM outbox"  # noqa: S608 - constants
            " WHERE position > ? AND (? IS NULL OR day = ?) ORDER BY position LIMIT ?",
            (after, label, label, limit),
        )
        return [Waiting(_number(row[0]), _report(row[1:])) for row in rows]

    def attempt(self, ids: Collection[bytes]) -> Collection[bytes]:
        """Mark waiting reports as on their way."""
        sql = "UPDATE outbox SET attempted = attempted + 1 WHERE id = ?"
        return {report_id for report_id in ids if self._run(sql, (report_id,)).rowcount}

    def refused(self, ids: Collection[bytes]) -> None:
        """Take back the latest mark of waiting reports."""
        sql = "UPDATE outbox SET attempted = attempted - 1 WHERE id = ? AND attempted > 0"
        self._run_many(sql, [(report_id,) for report_id in ids])

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

    def apply_verdicts(self, sent: Sequence[Sent]) -> int:
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
        rows = self._run("SELECT reason, reports FROM dropped")
        return {_text(reason): _number(reports) for reason, reports in rows}

    def lose(self, reason: str, answers: int) -> None:
        """Count answers of which no report was made."""
        self._count_drops(reason, answers)

    def note(self, name: str) -> int | None:
        """Return a number that was noted."""
        row = self._run("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
        return None if row is None else _number(row[0])

    def set_note(self, name: str, value: int | None) -> None:
        """Note a number, or remove it."""
        if value is None:
            self._run("DELETE FROM note WHERE name = ?", (name,))
        else:
            self._run("REPLACE INTO note VALUES (?, ?)", (name, value))

    def sent(self) -> list[Sent]:
        """Return the sent log."""
        rows = self._run(f"SELECT {_REPORT}, verdict, reason FROM sent")  # noqa: S608 - constants
        return [
            Sent(_report(row[:-2]), _verdict(row[-2]), None if row[-1] is None else _text(row[-1]))
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
        (reports,) = self._one("SELECT beyond_recall FROM device")
        return _number(reports)

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
        self._run("DELETE FROM note")
        self._run("UPDATE device SET beyond_recall = 0, erasure_pending = 1")

    def erase(self, purpose: str | None) -> None:
        """Delete the outbox, the memo and the secret."""
        rows = self._run("SELECT id FROM outbox WHERE ? IS NULL OR purpose = ?", (purpose, purpose))
        self.withdraw([report_id for (report_id,) in rows.fetchall()], DENIED)
        for table in ("memo", "permanent", "series"):
            self._run(f"DELETE FROM {table}")  # noqa: S608 - constants
        self._run("UPDATE device SET secret = NULL, cohort = NULL, erasure_pending = 1")

    def _one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self._run(sql, values).fetchone()
        if row is None:
            raise Damaged("a row is missing")
        return row


def _number(stored: object) -> int:
    if not isinstance(stored, int):
        raise Damaged("a number is none")
    return stored


def _bytes(stored: object) -> bytes:
    if not isinstance(stored, bytes):
        raise Damaged("a value is not made of bytes")
    return stored


def _text(stored: object) -> str:
    if not isinstance(stored, str):
        raise Damaged("a text is none")
    return stored


def _choice(stored: object) -> str:
    if stored not in (_GRANTED, _DENIED):
        raise Damaged("a choice is neither granted nor denied")
    return _text(stored)


def _day(stored: object) -> date:
    try:
        return date.fromisoformat(_text(stored))
    except ValueError:
        raise Damaged("a day is none") from None


def _verdict(stored: object) -> Verdict | None:
    try:
        return None if stored is None else Verdict(_text(stored))
    except ValueError:
        raise Damaged("a verdict is none") from None


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
        _bytes(report_id),
        _day(day),
        _text(metric),
        _number(revision),
        _number(cohort),
        _bytes(payload),
        _text(purpose),
    )
