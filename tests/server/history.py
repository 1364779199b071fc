"""A history of a collector, played against a real database and a model of what was promised.

Every report has a value of its own, so that a cell of two proves a double count and a cell of none
where `accepted` was heard proves a loss. Faults come before the commit, within it, and after it,
when the answer is lost. In the manner of Janus's simulation tests.
"""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Protocol

from tests.server.collecting import TODAY, registry
from tests.server.store_contract import Remember, together

from rumor_server.errors import StoreError
from rumor_server.ingestion.batch import Batch, Report, RetractionBatch
from rumor_server.ingestion.retraction import Receipt, Retractions, screen_retractions
from rumor_server.ingestion.screening import Charges, screen_batch
from rumor_server.storage.store import Result, ScreenedBatch, Store
from rumor_shared.wire import Retraction, Verdict

VALUES = 2048
A_DAYS_REPORTS = 4
REGISTRY = registry(
    f"""
    [registry]
    max_age_days = 3
    daily_epsilon = 100.0
    [metrics.own]
    revision = 1
    mechanism = "krr"
    epsilon = 1.0
    daily_epsilon = {A_DAYS_REPORTS}.0
    values = {[f"v{number}" for number in range(VALUES)]}
    owner = "test@example.org"
    purpose = "to test"
    expires = 2999-12-31
    """.replace("'", '"')
)
OWN = REGISTRY.metric("own")
CHARGES = Charges(REGISTRY)
DEVICES = 3
NODES = 2

# What one step does, and three numbers that say with what.
Step = tuple[str, int, int, int]
STEPS = (
    "send", "send", "send", "send", "group", "replay", "conflict", "retract", "retract", "race",
    "day", "close", "compact", "restart", "backup", "restore",
)  # fmt: skip


class Database(Protocol):
    """What a history needs of a database beyond the stores on it."""

    def open(self) -> Store:
        """Open another store, as another process would."""

    def empty(self) -> None:
        """Bring the database back to where it holds nothing."""

    def fault(self) -> AbstractContextManager[None]:
        """Have every commit fail within its transaction, after its last statement."""

    remember: Remember


@dataclass
class Told:
    """What the devices heard of one report, and may therefore rely on."""

    device: int
    day: date
    report: Report
    is_possible: bool = False
    is_accepted: bool = False
    required_since: int | None = None
    is_withdrawn: bool = False
    is_forbidden: bool = False


@dataclass
class History:
    """A database, two nodes on it, and the model. `today` is everybody's day."""

    database: Database
    nodes: list[Store] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    today: date = TODAY
    moment: int = 0
    backup: tuple[int, Callable[[], None]] | None = None

    def play(self, steps: list[Step]) -> None:
        """Do the steps in order, then check every promise."""
        self.database.empty()
        self.nodes = [self._open() for _ in range(NODES)]
        try:
            for name, a, b, c in steps:
                self.moment += 1
                getattr(self, f"_{name}")(a, b, c)
            self.check()
        finally:
            for node in self.nodes:
                node.close()

    def check(self) -> None:
        """Compare the tally with what was promised."""
        tally = self.nodes[0].tally(OWN, date.min, date.max)
        cells = tally.counts[0].tolist()
        spent: Counter[tuple[int, date]] = Counter()
        for value, one in enumerate(self.told):
            count = cells[value]
            assert count in {0, 1}, f"report {value} counts {count} times"
            assert one.is_possible or not count, f"report {value} counts though refused"
            assert not (one.is_forbidden and count), f"report {value} counts though taken back"
            if one.required_since is not None and not one.is_withdrawn:
                assert count, f"report {value} was acknowledged and does not count"
            spent[one.device, one.day] += one.is_accepted
        assert not any(cells[len(self.told) :])
        assert tally.n == sum(cells)
        assert max(spent.values(), default=0) <= A_DAYS_REPORTS

    def _open(self) -> Store:
        store = self.database.open()
        store.adopt(REGISTRY)
        return store

    def _new(self, device: int, day: date, id_: bytes | None = None) -> Told:
        value = len(self.told)
        payload = value.to_bytes(OWN.mechanism.payload_bytes, "little")
        one = Told(
            device, day, Report(id_ or random.Random(value).randbytes(16), "own", 1, 0, payload)
        )
        self.told.append(one)
        return one

    def _screened(self, sent: list[Told]) -> ScreenedBatch:
        reports = [one.report for one in sent]
        batch = Batch("test/1", sent[0].day.isoformat(), bytes([sent[0].device] * 16), reports)
        return screen_batch(batch, CHARGES, self.today, REGISTRY.max_age_days)

    def _commit(self, node: int, batches: list[list[Told]], fate: int) -> None:
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

    def _hear(self, one: Told, result: Result | None) -> None:
        if result is None:
            one.is_possible = True
        elif result.verdict is Verdict.ACCEPTED:
            one.is_possible = one.is_accepted = True
        if result is not None and result.verdict in {Verdict.ACCEPTED, Verdict.DUPLICATE}:
            assert one.is_possible or one.is_withdrawn
            if one.required_since is None:
                one.required_since = self.moment

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
        if self.told:
            self._commit(a, [[self.told[b % len(self.told)]]], c)

    def _conflict(self, a: int, b: int, c: int) -> None:
        """Send another report under an id that was used, of the same device or another."""
        if self.told:
            used = self.told[b % len(self.told)]
            day = used.day if a % 2 else self.today
            self._commit(a, [[self._new(a % DEVICES, day, used.report.id)]], c)

    def _race(self, a: int, b: int, c: int) -> None:
        """Have both nodes commit at the same time: new reports of one device, and an old one."""
        old = [self.told[b % len(self.told)]] if self.told else []
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
        if a % 4 == 0 or not self.told:
            one = self._new(b % DEVICES, self.today)
        else:
            one = self.told[b % len(self.told)]
        batch = RetractionBatch("test/1", one.day.isoformat(), bytes(16), [one.report])
        sent: Retractions = screen_retractions(batch, self.today, REGISTRY.max_age_days)
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
        self.receipts += withdrawal.receipts
        ((result,),) = withdrawal.results
        if result.verdict not in {Retraction.MISMATCH, Retraction.TOO_LATE}:
            one.is_withdrawn = one.is_forbidden = True

    def _day(self, a: int, b: int, c: int) -> None:
        """Let a day pass."""
        self.today += timedelta(days=1)

    def _close(self, a: int, b: int, c: int) -> None:
        """Close the days past their age."""
        through = self.today - timedelta(days=REGISTRY.max_age_days + 1)
        self.nodes[a % NODES].close_days(through)

    def _compact(self, a: int, b: int, c: int) -> None:
        self.nodes[a % NODES].compact()

    def _restart(self, a: int, b: int, c: int) -> None:
        """End a node, and start another in its place."""
        self.nodes[a % NODES].close()
        self.nodes[a % NODES] = self._open()

    def _backup(self, a: int, b: int, c: int) -> None:
        self.backup = (self.moment, self.database.remember())

    def _restore(self, a: int, b: int, c: int) -> None:
        """Go back to the backup, replay the receipts, and keep the days shut that were open.

        What was acknowledged since is lost, and known to be.
        """
        if self.backup is None:
            return
        moment, restore = self.backup
        for node in self.nodes:
            node.close()
        restore()
        self.backup = (moment, self.database.remember())
        self.nodes = [self._open() for _ in range(NODES)]
        self.nodes[0].replay(self.receipts)
        self.nodes[0].close_days(self.today + timedelta(days=1))
        for one in self.told:
            if one.required_since is not None and one.required_since > moment:
                one.required_since = None
