"""A history of a collector, played against a real database and a model of what was promised.

Every report has a value of its own, so that a cell of two proves a double count and a cell of none
where `accepted` was heard proves a loss. Faults come before the commit, within it, and after it,
when the answer is lost. Backups are made while a node commits, and restored by the very functions
of `rumor backup` and `rumor restore`. In the manner of Janus's simulation tests.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import pytest
from tests.harness.collector import TODAY
from tests.harness.history_databases import Database
from tests.harness.history_reports import A_DAYS_REPORTS, OWN, REGISTRY, SentReport, report_of
from tests.server.storage.store_contract import together

from rumor_server.errors import StoreError
from rumor_server.ingestion.batch import Batch, RetractionBatch
from rumor_server.ingestion.retraction import Retractions, screen_retractions
from rumor_server.ingestion.screening import Charges, Result, ScreenedBatch, screen_batch
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.store import Store
from rumor_shared.wire import Retraction, Verdict

CHARGES = Charges(REGISTRY)
DEVICES = 3
NODES = 2

# What one step does, and three numbers that say with what.
Step = tuple[str, int, int, int]
STEPS = (
    "send", "send", "send", "send", "group", "replay", "conflict", "retract", "retract", "race",
    "day", "close", "compact", "restart", "backup", "restore",
)  # fmt: skip


# A backup, the last day that it has closed, and what is possible, required and withdrawn in it.
Saved = tuple[Path, date, list[tuple[bool, bool, bool]]]


@dataclass
class History:
    """A database, two nodes on it, and the model. `today` is everybody's day.

    No report of a day up to `closed` may be taken. After each of `restores` a device may spend a
    day's budget once more.
    """

    database: Database
    nodes: list[Store] = field(default_factory=list)
    receipts: list[Receipts] = field(default_factory=list)
    sent_reports: list[SentReport] = field(default_factory=list)
    today: date = TODAY
    closed: date = date.min
    backups: list[Saved] = field(default_factory=list)
    restores: int = 0
    spent: Counter[tuple[int, date, int]] = field(default_factory=Counter)

    def play(self, steps: list[Step]) -> None:
        """Do the steps in order, then check every promise."""
        self.database.empty()
        self._start()
        try:
            for name, a, b, c in steps:
                getattr(self, f"_{name}")(a, b, c)
            self.check()
        finally:
            self._stop()

    def check(self) -> None:
        """Compare the tally with what was promised."""
        cells = self._cells()
        for value, one in enumerate(self.sent_reports):
            count = cells[value]
            assert count in {0, 1}, f"report {value} counts {count} times"
            assert one.is_possible or not count, f"report {value} counts though refused"
            assert not ((one.is_forbidden or one.is_barred) and count), (
                f"report {value} counts though taken back"
            )
            if one.is_required and not (one.is_withdrawn or one.is_forbidden):
                assert count, f"report {value} was acknowledged and does not count"
        assert not any(cells[len(self.sent_reports) :])
        assert max(self.spent.values(), default=0) <= A_DAYS_REPORTS

    def _cells(self) -> list[int]:
        tally = self.nodes[0].tally(OWN, date.min, date.max)
        cells: list[int] = tally.counts[0].tolist()
        assert tally.n == sum(cells)
        return cells

    def _start(self) -> None:
        self.nodes = [self._open() for _ in range(NODES)]
        self.receipts = [self.database.receipts() for _ in range(NODES)]

    def _stop(self) -> None:
        for node in self.nodes:
            node.close()

    def _open(self) -> Store:
        store = self.database.open()
        store.declare(REGISTRY)
        return store

    def _new(self, device: int, day: date, id_: bytes | None = None) -> SentReport:
        self.sent_reports.append(report_of(len(self.sent_reports), device, day, id_))
        return self.sent_reports[-1]

    def _screened(self, sent: list[SentReport]) -> ScreenedBatch:
        reports = [one.report for one in sent]
        batch = Batch("test/1", sent[0].day.isoformat(), bytes([sent[0].device] * 16), reports)
        return screen_batch(batch, CHARGES, self.today, REGISTRY.max_age_days)

    def _commit(self, node: int, batches: list[list[SentReport]], fate: int) -> None:
        """Commit a group; `fate` 0 loses the answer, 1 has a fault within, others are answered."""
        screened = [self._screened(sent) for sent in batches]
        store = self.nodes[node % NODES]
        if fate == 1:
            with self.database.fault():
                try:
                    results = store.commit(screened)
                except StoreError:
                    return
        else:
            results = store.commit(screened)
        for sent, heard in zip(batches, results, strict=True):
            for one, result in zip(sent, heard, strict=True):
                self._hear(one, None if fate == 0 else result)

    def _hear(self, one: SentReport, result: Result | None) -> None:
        if result is None:
            one.is_possible = True
        elif result.verdict is Verdict.ACCEPTED:
            assert one.day > self.closed, "a report of a closed day was taken"
            one.is_possible = True
            self.spent[one.device, one.day, self.restores] += 1
        if result is not None and result.verdict in {Verdict.ACCEPTED, Verdict.DUPLICATE}:
            assert one.is_possible or one.is_withdrawn or one.is_forbidden
            one.is_required = True

    def _send(self, a: int, b: int, c: int) -> None:
        """Send one to three reports of a device, of a day in and about the window."""
        day = self.today - timedelta(days=(0, 0, 0, 1, 2, 3, 4, -1)[a % 8])
        self._commit(a, [[self._new(b % DEVICES, day) for _ in range(1 + b % 3)]], c)

    def _group(self, a: int, b: int, c: int) -> None:
        """Commit several batches at once, the first of them twice."""
        batches = [[self._new((b + one) % DEVICES, self.today)] for one in range(1 + a % 4)]
        self._commit(a, [*batches, batches[0]], c)

    def _replay(self, a: int, b: int, c: int) -> None:
        """Send again what was sent, whatever became of it."""
        if self.sent_reports:
            self._commit(a, [[self.sent_reports[b % len(self.sent_reports)]]], c)

    def _conflict(self, a: int, b: int, c: int) -> None:
        """Send another report under an id that was used, of the same device or another."""
        if self.sent_reports:
            used = self.sent_reports[b % len(self.sent_reports)]
            day = used.day if a % 2 else self.today
            self._commit(a, [[self._new(a % DEVICES, day, used.report.id)]], c)

    def _race(self, a: int, b: int, c: int) -> None:
        """Have both nodes commit at the same time: new reports of one device, and an old one."""
        old = [self.sent_reports[b % len(self.sent_reports)]] if self.sent_reports else []
        sent = [[self._new(a % DEVICES, self.today) for _ in range(2)] for _ in range(NODES)]
        groups = [[one, old] if old else [one] for one in sent]
        heard: dict[int, list[list[Result]]] = {}

        def work(node: int) -> Callable[[], object]:
            screened = [self._screened(batch) for batch in groups[node]]
            return lambda: heard.update({node: self.nodes[node].commit(screened)})

        together([work(node) for node in range(NODES)])
        pairs = [
            (one, result)
            for node in range(NODES)
            for batch, results in zip(groups[node], heard[node], strict=True)
            for one, result in zip(batch, results, strict=True)
        ]
        # Whoever was first heard `accepted`: the other node's `duplicate` follows from it.
        for one, result in sorted(pairs, key=lambda pair: pair[1].verdict is not Verdict.ACCEPTED):
            self._hear(one, result)

    def _retract(self, a: int, b: int, c: int) -> None:
        """Take a report back, sent or not; a crash may come before the receipt or the answer."""
        if a % 4 == 0 or not self.sent_reports:
            one = self._new(b % DEVICES, self.today)
        else:
            one = self.sent_reports[b % len(self.sent_reports)]
        device = bytes([one.device] * 16)
        batch = RetractionBatch("test/1", one.day.isoformat(), device, [one.report])
        sent: Retractions = screen_retractions(batch, CHARGES, self.today, REGISTRY.max_age_days)
        store = self.nodes[a % NODES]
        if c == 1:
            with self.database.fault():
                try:
                    withdrawal = store.retract([sent])
                except StoreError:
                    return
        else:
            withdrawal = store.retract([sent])
        if c == 0:
            one.is_withdrawn = True
            return
        self.receipts[a % NODES].append(withdrawal.receipts)
        ((result,),) = withdrawal.results
        if result.verdict not in {Retraction.MISMATCH, Retraction.TOO_LATE}:
            one.is_withdrawn = True
            if result.verdict is Retraction.NOT_COUNTED_YET:
                one.is_barred = True
            else:
                one.is_forbidden = True

    def _day(self, a: int, b: int, c: int) -> None:
        """Let a day pass."""
        self.today += timedelta(days=1)

    def _close(self, a: int, b: int, c: int) -> None:
        """Close the days past their age."""
        through = self.today - timedelta(days=REGISTRY.max_age_days + 1)
        traces = self.database.traces(through)
        self.closed = self.nodes[a % NODES].close_days(through)
        self.receipts[a % NODES].forget(self.closed)
        if c < 3:
            self.nodes[b % NODES].forget_closed(1 + a % 5)
            return
        while self.nodes[a % NODES].forget_closed(1 + b % 5):
            pass
        if self.nodes[a % NODES].erase():
            raw = self.database.raw()
            assert not any(trace in raw for trace in traces), "a closed day is still in the files"

    def _compact(self, a: int, b: int, c: int) -> None:
        self.nodes[a % NODES].compact()

    def _restart(self, a: int, b: int, c: int) -> None:
        """End a node, and start another in its place."""
        self.nodes[a % NODES].close()
        self.nodes[a % NODES] = self._open()
        self.receipts[a % NODES] = self.database.receipts()

    def _backup(self, a: int, b: int, c: int) -> None:
        """Make a backup, half the time while a node commits: it may have that report or not."""
        paths: list[Path] = []
        works: list[Callable[[], object]] = [lambda: paths.append(self.database.back_up())]
        if a % 2:
            during = self._new(b % DEVICES, self.today)
            works.append(lambda: self._commit(a // 2, [[during]], c))
        kept = [(one.is_possible, one.is_required, one.is_withdrawn) for one in self.sent_reports]
        if a % 2:
            kept[-1] = (True, False, False)
        together(works)
        self.backups.append((paths[0], self.closed, kept))

    def _restore(self, a: int, b: int, c: int) -> None:
        """Go back to a backup, with open days reopened or not; what came since is lost.

        A backup that is newer than one restored is of another history, and is thrown away.
        """
        if not self.backups:
            return
        number = b % len(self.backups)
        backup, closed, kept = self.backups[number]
        if c == 0:
            with pytest.raises(StoreError):
                self.database.restore(backup, self.today, reopen=True)
            return
        before = self._cells()
        self._stop()
        reopen = a % 2 == 1
        lost = self.database.restore(backup, self.today, reopen=reopen)
        self.closed = closed if reopen else max(closed, self.today)
        del self.backups[number + 1 :]
        self.restores += 1
        self._start()
        for one in self.sent_reports:
            one.is_possible = one.is_required = one.is_withdrawn = one.is_barred = False
        for one, flags in zip(self.sent_reports, kept, strict=False):
            one.is_possible, one.is_required, one.is_withdrawn = flags
        self.check()
        if lost is not None:
            assert lost == max(0, sum(before) - sum(self._cells()))
