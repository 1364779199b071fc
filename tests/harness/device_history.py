"""Histories of devices with every fault there is, in the manner of Janus: random steps.

Each report of a device stands for a value of its own (the noise is switched off through the
randomness seam), so that a histogram cell of 2 proves a double count. Two devices share a
collector; each has two processes on one state, of which one acts while the other's request is under
way. A crash is an exception that nothing in the client may catch, before or after a commit.
"""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import date
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.harness.devices import KRR, PURPOSE, registry_with
from tests.harness.faults import Crash, CrashingState, Truthful

from rumor_client import (
    Bounds,
    Client,
    Request,
    Response,
)
from rumor_client.testing import (
    Answer,
    FakeClock,
    FakeCollector,
    answer,
    client_for,
    contents,
    lost,
    page,
    refusal,
)
from rumor_shared.budget import EVERYTHING, LIFE, Account

VALUES = 512
EACH = 1_000_000
DAILY_REPORTS = 6
MAX_AGE = 7
REGISTRY = registry_with(
    {"theme": {**KRR, "values": [f"v{i}" for i in range(VALUES)], "daily_epsilon": 100}},
    daily_epsilon=DAILY_REPORTS,
    max_age_days=MAX_AGE,
)
BOUNDS = Bounds(reports=4)


class Device:
    """One device: a state, and two processes that use it."""

    def __init__(
        self,
        number: int,
        transport: Answer,
        collector: FakeCollector,
        clock: FakeClock,
        truthful: Truthful,
    ) -> None:
        self.state = CrashingState()
        self.values = iter(range(number * VALUES // 2, (number + 1) * VALUES // 2))
        self.forgotten: set[bytes] = set()
        self.consented = False
        self.collector = collector
        self._make = partial(
            client_for,
            REGISTRY,
            granted=False,
            transport=transport,
            state=self.state,
            clock=clock,
            bounds=BOUNDS,
            randomness=truthful,
            jitter=lambda: 0.0,
        )
        self.restart()
        self.other = self._client()

    def restart(self) -> None:
        """Start the process anew."""
        self.client = self._client()

    def _client(self) -> Client:
        return self._make()

    def record(self, client: Client) -> None:
        """Report the next value there is."""
        value = next(self.values, None)
        if value is not None:
            client.record("theme", f"v{value}")

    def grant(self) -> None:
        """Agree, in both processes."""
        self.client.consent.grant()
        self.other.consent.grant()
        self.consented = True

    def deny(self, client: Client) -> None:
        """Withdraw consent."""
        client.consent.deny()
        self.consented = False

    def forget(self, client: Client, *, give_up: bool) -> None:
        """Forget; what had been sent must count no more where the client says so."""
        self.consented = False
        sent = {item.report.id for item in self.state.contents.sent()}
        try:
            done = client.forget(timeout=1, give_up=give_up)
            if done.complete and not give_up:
                assert not sent & self.counted(), "what was taken back counts"
        finally:
            left = self.state.contents
            if not (left.sent() or left.drops() or left.beyond_recall() or left.size().reports):
                self.forgotten = set(self.state.made)

    def counted(self) -> set[bytes]:
        """Return the ids of this device's reports that the collector counts."""
        return _ids(self.collector.counted) & set(self.state.made)

    def check(self) -> None:
        """Each report waits, was delivered, was taken back, or is a drop that was counted."""
        contents = self.state.contents
        made = set(self.state.made) - self.forgotten
        waiting = {item.report.id for item in contents.waiting(None, 0, VALUES)}
        delivered = {item.report.id for item in contents.sent() if item.verdict is not None}
        taken_back = self.state.unlogged & made
        drops = contents.drops()
        unconfirmed = sum(n for reason, n in drops.items() if reason.startswith("unconfirmed"))
        certain = sum(drops.values()) - unconfirmed
        accounted = len(waiting) + len(delivered) + len(taken_back) + contents.beyond_recall()
        assert len(made) == accounted + certain + unconfirmed, "a report is lost, or told twice"
        retracted = _ids(self.collector.retracted)
        assert delivered <= self.counted() | retracted, "a receipt for what never came"
        missing = len(made - waiting - self.counted() - retracted)
        assert certain <= missing <= certain + unconfirmed, "a drop is not what it says"


def _ids(reports: Collection[str]) -> set[bytes]:
    return {b64decode(report_id) for report_id in reports}


DEVICES = st.integers(0, 1)
RECORDS = st.integers(0, 3)
FLUSHES = st.integers(0, 2)
# What may happen to a request; None is for what the collector itself has a hand in.
STEPS: Mapping[str, Answer | None] = {
    "lost": lost,
    "lose answer": None,
    "after commit": None,
    "later": None,
    "split": None,
    "page": page(200),
    **{str(status): refusal(status) for status in (401, 415, 500, 507)},
}
MEANWHILE = ["record", "flush", "deny", "deny and grant", "forget"]


class Histories(RuleBasedStateMachine):
    """The rules: what may happen; the invariants: what must hold whatever did."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.collector = FakeCollector()
        self.meanwhile: list[Callable[[], None]] = []
        truthful = Truthful()
        self.devices = [
            Device(number, partial(self._carry, number), self.collector, self.clock, truthful)
            for number in range(2)
        ]
        for device in self.devices:
            device.grant()

    def _carry(self, number: int, request: Request) -> Response:
        device = self.devices[number]
        retracts = request.url.endswith("retractions")
        assert device.consented or retracts, "a report left after a denial"
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return self.collector(request)

    def _run(self, device: Device, act: Callable[[], object]) -> None:
        try:
            act()
        except Crash:
            device.state.crash_in = 0
            device.restart()

    @rule(number=DEVICES, records=RECORDS, flushes=FLUSHES)
    def use(self, number: int, records: int, flushes: int) -> None:
        """Report some values, and upload."""
        device = self.devices[number]
        for _ in range(records):
            self._run(device, lambda: device.record(device.client))
        for _ in range(flushes):
            self._run(device, device.client.flush)

    @rule(step=st.sampled_from(sorted(STEPS)), number=DEVICES, records=RECORDS, flushes=FLUSHES)
    def disturb(self, step: str, number: int, records: int, flushes: int) -> None:
        """Let something happen to the next request."""
        answers = {
            "lose answer": self.collector.lose_answer,
            "after commit": self.collector.fail_after_commit,
            "later": self._half,
            "split": self._too_large,
        }
        self.collector.script.append(STEPS[step] or answers[step])
        self.use(number, records, flushes)

    def _too_large(self, request: Request) -> Response:
        batch = contents(request)
        alone = len(batch.get("reports", batch.get("retractions", []))) == 1
        return self.collector.take(request) if alone else refusal(413)(request)

    def _half(self, request: Request) -> Response:
        """Take every other report, and ask for the rest again."""
        if request.url.endswith("retractions"):
            return self.collector.take(request)
        batch = contents(request)
        results = [
            self.collector.judge(report, batch["day"])
            if place % 2
            else {"id": report["id"], "verdict": "retry", "reason": "too_early", "detail": ""}
            for place, report in enumerate(batch["reports"])
        ]
        return answer(200, {"results": results, "server_day": batch["day"]})

    @rule(
        number=DEVICES,
        commits=st.integers(1, 4),
        after=st.booleans(),
        records=RECORDS,
        flushes=FLUSHES,
    )
    def crash(self, number: int, commits: int, after: bool, records: int, flushes: int) -> None:
        """Let the process die before or after one of its next commits."""
        state = self.devices[number].state
        state.crash_in, state.after_commit = commits, after
        self.use(number, records, flushes)

    @rule(days=st.sampled_from([-1, 1, 1, 2, 8]), number=DEVICES, records=RECORDS, flushes=FLUSHES)
    def jump(self, days: int, number: int, records: int, flushes: int) -> None:
        """Move the clock, perhaps back, perhaps beyond what the collector takes."""
        self.clock.move(days=days)
        self.use(number, records, flushes)

    @rule(number=DEVICES, what=st.sampled_from(MEANWHILE), records=RECORDS, flushes=FLUSHES)
    def act_meanwhile(self, number: int, what: str, records: int, flushes: int) -> None:
        """Let the other process act while the next request is under way."""
        device = self.devices[number]

        def act() -> None:
            crash_in, device.state.crash_in = device.state.crash_in, 0
            match what:
                case "record":
                    for _ in range(BOUNDS.reports):
                        device.record(device.other)
                case "flush":
                    device.other.flush(timeout=0)
                case "deny":
                    device.deny(device.other)
                case "deny and grant":
                    device.deny(device.other)
                    device.grant()
                case "forget":
                    device.forget(device.other, give_up=False)
            device.state.crash_in = crash_in

        self.meanwhile.append(act)
        self.use(number, records, flushes)

    @rule(
        number=DEVICES,
        what=st.sampled_from(["deny", "forget", "give up", "restart"]),
        agrees=st.booleans(),
        records=RECORDS,
        flushes=FLUSHES,
    )
    def stop(self, number: int, what: str, agrees: bool, records: int, flushes: int) -> None:
        """Deny, forget or start anew, and perhaps agree again."""
        device = self.devices[number]
        match what:
            case "deny":
                self._run(device, lambda: device.deny(device.client))
            case "restart":
                device.restart()
            case _:
                give_up = what == "give up"
                self._run(device, lambda: device.forget(device.client, give_up=give_up))
        # A process that died of it may not have stored the denial.
        device.consented = device.client.consent.is_granted(PURPOSE)
        if agrees:
            device.state.crash_in = 0
            device.grant()
        self.use(number, records, flushes)

    @invariant()
    def no_value_counts_twice(self) -> None:
        """A histogram cell of 2 would be a double count."""
        cells = Counter(report["payload"] for report in self.collector.counted.values())
        assert max(cells.values(), default=0) <= 1

    @invariant()
    def nothing_is_lost_unseen(self) -> None:
        """Outbox, collector and counted drops are together everything that was recorded."""
        for device in self.devices:
            device.check()

    @invariant()
    def what_was_spent_was_reported_within_the_cap(self) -> None:
        """Each day's account is the sum of its reports, and below the cap."""
        for device in self.devices:
            made = Counter(report.day for report in device.state.made.values())
            labels = [LIFE, *(day.isoformat() for day in made)]
            accounts = [Account("all", EVERYTHING, label) for label in labels]
            contents = device.state.contents
            expected = [made.total() * EACH, *(reports * EACH for reports in made.values())]
            assert contents.spent(accounts) == expected
            assert max(made.values(), default=0) <= DAILY_REPORTS

    def teardown(self) -> None:
        """When all is quiet again, what waits is counted, and what is forgotten counts no more."""
        self.collector.script.clear()
        self.meanwhile.clear()
        # What the collector asked to wait is over, and what was dated ahead has its day.
        made = [report.day for device in self.devices for report in device.state.made.values()]
        ahead = (max(made, default=date.min) - self.clock().date()).days
        self.clock.move(days=max(0, ahead), hours=2)
        for device in self.devices:
            device.state.crash_in = 0
            device.grant()
            device.restart()
            device.client.flush()
            assert device.client.status().waiting == 0
            device.check()
            device.forget(device.client, give_up=False)
            assert device.client.sent() == []
            assert device.state.contents.size().reports == 0
