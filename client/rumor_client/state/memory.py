"""The in-memory state store, in plain dictionaries: for tests and simulations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from typing import TypeVar

from rumor_client.errors import StateBusy
from rumor_client.state.protocol import LOCK_WAIT, Identity, Size, Transaction
from rumor_client.state.report import DENIED, Report, Sent, Waiting, rejection, unconfirmed
from rumor_shared.budget import Account, Series
from rumor_shared.wire import Verdict

K = TypeVar("K")
V = TypeVar("V")


class MemoryState:
    """A state that keeps nothing on disk. It must not outlive a fork: parent and child would both
    send what waits.

    `contents` is what is stored, readable outside of any transaction: a test may look at it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self.contents = _Contents()

    @contextmanager
    def transaction(self, wait: float = LOCK_WAIT) -> Iterator[_Contents]:
        """Begin a transaction; see `State.transaction`."""
        if not self._lock.acquire(timeout=wait):
            raise StateBusy(wait)
        try:
            yield self.contents
        except BaseException:
            self.contents.undo()
            raise
        finally:
            self.contents.commit()
            self._lock.release()

    def run(self, work: Callable[[Transaction], V], wait: float = LOCK_WAIT) -> V:
        """Do `work` in a transaction; see `State.run`."""
        with self.transaction(wait) as transaction:
            return work(transaction)

    def choices(self, wait: float = LOCK_WAIT) -> Mapping[str, tuple[str, date]]:
        """Return the stored choices."""
        return self.contents.choices()

    @contextmanager
    def upload_turn(self) -> Iterator[bool]:
        """Take the turn to upload; see `State.upload_turn`."""
        mine = self._turn.acquire(blocking=False)
        try:
            yield mine
        finally:
            if mine:
                self._turn.release()

    def revoke(self) -> bool:
        """Return False: there is no disk that could be full."""
        return False

    def scrub(self) -> bool:
        """Return True: there is no file."""
        return True

    def erasure_pending(self) -> bool:
        """Return False: there is no file."""
        return False

    def close(self) -> None:
        """Do nothing: the contents live as long as this object."""


class _Contents:
    """The tables, and how to undo what the transaction under way has done to them."""

    def __init__(self) -> None:
        self._choices: dict[str, tuple[str, date]] = {}
        self._identities: dict[int, Identity] = {}
        self._spent: dict[Account, int] = {}
        self._reports: dict[tuple[Series, date | None], int] = {}
        self._tags: dict[Series, tuple[bytes, ...]] = {}
        self._permanents: dict[Series, bytes] = {}
        self._outbox: dict[bytes, Waiting] = {}
        self._attempted: dict[bytes, int] = {}
        self._drops: dict[str, int] = {}
        self._sent: dict[bytes, Sent] = {}
        self._notes: dict[str, int] = {}
        self._numbers = {"epoch": 0, "stored": 0, "position": 0, "beyond": 0}
        self._undo: list[Callable[[], object]] = []

    def commit(self) -> None:
        """Keep what was done."""
        self._undo.clear()

    def undo(self) -> None:
        """Take back what was done, latest first."""
        while self._undo:
            self._undo.pop()()

    def _set(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            self._undo.append(partial(table.__setitem__, key, table[key]))
        else:
            self._undo.append(partial(table.pop, key))
        table[key] = value

    def _remove(self, table: dict[K, V], key: K) -> None:
        self._undo.append(partial(table.__setitem__, key, table.pop(key)))

    def _add(self, table: dict[K, int], key: K, amount: int) -> None:
        self._set(table, key, table.get(key, 0) + amount)

    def choices(self) -> Mapping[str, tuple[str, date]]:
        return dict(self._choices)

    def choose(self, purpose: str, choice: str, as_of: date) -> None:
        self._set(self._choices, purpose, (choice, as_of))

    def identity(self) -> Identity | None:
        return self._identities.get(self._numbers["epoch"])

    def set_identity(self, secret: bytes, cohort: int) -> Identity:
        self._add(self._numbers, "epoch", 1)
        identity = Identity(secret, cohort, self._numbers["epoch"])
        self._set(self._identities, identity.epoch, identity)
        return identity

    def spent(self, accounts: Sequence[Account]) -> list[int]:
        return [self._spent.get(account, 0) for account in accounts]

    def charge(self, charges: Sequence[tuple[Account, int]]) -> None:
        for account, amount in charges:
            self._add(self._spent, account, amount)

    def reports(self, series: Series, day: date) -> tuple[int, int]:
        return self._reports.get((series, None), 0), self._reports.get((series, day), 0)

    def count(self, series: Series, day: date) -> None:
        self._add(self._reports, (series, None), 1)
        self._add(self._reports, (series, day), 1)

    def slots(self, series: Series) -> Collection[bytes]:
        return self._tags.get(series, ())

    def last_permanent(self, series: Series) -> bytes:
        return self._permanents[series]

    def fill_slot(self, series: Series, tag: bytes, permanent: bytes) -> None:
        self._set(self._tags, series, (*self._tags.get(series, ()), tag))
        self._set(self._permanents, series, permanent)

    def put(self, report: Report) -> None:
        self._add(self._numbers, "position", 1)
        self._add(self._numbers, "stored", report.stored_bytes)
        self._set(self._outbox, report.id, Waiting(self._numbers["position"], report))

    def size(self) -> Size:
        return Size(len(self._outbox), self._numbers["stored"])

    def days(self) -> list[date]:
        return sorted({item.report.day for item in self._outbox.values()})

    def waiting(self, day: date | None, after: int, limit: int) -> list[Waiting]:
        found = [
            item
            for item in self._outbox.values()
            if item.position > after and day in (None, item.report.day)
        ]
        return sorted(found, key=lambda item: item.position)[:limit]

    def attempt(self, ids: Collection[bytes]) -> Collection[bytes]:
        waiting = {report_id for report_id in ids if report_id in self._outbox}
        for report_id in waiting:
            self._add(self._attempted, report_id, 1)
        return waiting

    def refused(self, ids: Collection[bytes]) -> None:
        for report_id in ids:
            if report_id in self._attempted:
                self._add(self._attempted, report_id, -1)

    def withdraw(self, ids: Collection[bytes], reason: str) -> int:
        withdrawn = 0
        for report_id in ids:
            if report_id not in self._outbox:
                continue
            withdrawn += 1
            report, attempted = self._take(report_id)
            if attempted:
                self._set(self._sent, report_id, Sent(report, None, reason))
            self._count_drops(unconfirmed(reason) if attempted else reason, 1)
        return withdrawn

    def _take(self, report_id: bytes) -> tuple[Report, bool]:
        report = self._outbox[report_id].report
        attempts = self._attempted.get(report_id, 0)
        self._add(self._numbers, "stored", -report.stored_bytes)
        self._remove(self._outbox, report_id)
        if report_id in self._attempted:
            self._remove(self._attempted, report_id)
        return report, attempts > 0

    def _count_drops(self, reason: str, reports: int) -> None:
        self._add(self._drops, reason, reports)
        if not self._drops[reason]:
            self._remove(self._drops, reason)

    def apply_verdicts(self, sent: Sequence[Sent]) -> int:
        settled = 0
        for item in sent:
            report_id = item.report.id
            known = self._sent.get(report_id)
            if report_id in self._outbox:
                self._take(report_id)
            elif known is not None and known.verdict is None and known.reason is not None:
                self._count_drops(unconfirmed(known.reason), -1)
            else:
                continue
            self._set(self._sent, report_id, item)
            settled += 1
            if item.verdict is Verdict.REJECTED:
                self._count_drops(rejection(item.reason), 1)
        return settled

    def lose(self, reason: str, answers: int) -> None:
        self._count_drops(reason, answers)

    def note(self, name: str) -> int | None:
        return self._notes.get(name)

    def set_note(self, name: str, value: int | None) -> None:
        if value is not None:
            self._set(self._notes, name, value)
        elif name in self._notes:
            self._remove(self._notes, name)

    def drops(self) -> Mapping[str, int]:
        return dict(self._drops)

    def sent(self) -> list[Sent]:
        return list(self._sent.values())

    def forget_sent(self, before: date) -> None:
        for item in list(self._sent.values()):
            if item.report.day < before:
                self._remove(self._sent, item.report.id)
                if item.verdict in (Verdict.ACCEPTED, Verdict.DUPLICATE):
                    self._add(self._numbers, "beyond", 1)

    def beyond_recall(self) -> int:
        return self._numbers["beyond"]

    def unlog(self, ids: Collection[bytes]) -> None:
        for report_id in ids:
            item = self._sent.get(report_id)
            if item is None:
                continue
            self._remove(self._sent, report_id)
            if item.verdict is None and item.reason is not None:
                self._count_drops(unconfirmed(item.reason), -1)

    def forget(self) -> None:
        self._clear(self._sent)
        self._clear(self._notes)
        self._clear(self._drops)
        self._set(self._numbers, "beyond", 0)

    def erase(self, purpose: str | None) -> None:
        waiting = [item.report for item in self._outbox.values()]
        self.withdraw([r.id for r in waiting if purpose in (None, r.purpose)], DENIED)
        self._clear(self._tags)
        self._clear(self._permanents)
        self._clear(self._reports)
        self._clear(self._identities)

    def _clear(self, table: dict[K, V]) -> None:
        for key in list(table):
            self._remove(table, key)
