"""What any state keeps: one set of promises, for memory and for a file."""

from __future__ import annotations

import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumor_client import MemoryState, Report, Sent, SqliteState, State, StateBusy
from rumor_client.state.protocol import Identity, Size, Transaction
from rumor_client.state.report import OVERHEAD_BYTES
from rumor_shared.budget import Account, Series
from rumor_shared.wire import Reason, Verdict

DAY = date(2026, 11, 30)
SERIES = Series(1, "browser", 1, 8)
ACCOUNTS = [Account("metric", "theme", "2026-11-30"), Account("all", "", "")]


def report(number: int, day: date = DAY, purpose: str = "one") -> Report:
    """Return a report with an id and a payload of its own."""
    return Report(number.to_bytes(16, "big"), day, "theme", 1, 0, bytes([number]), purpose)


def contents(state: State) -> list[object]:
    """Return everything a state shows."""
    with state.transaction() as t:
        return [
            dict(t.choices()),
            t.identity(),
            t.spent(ACCOUNTS),
            t.reports(SERIES, DAY),
            set(t.slots(SERIES)),
            t.size(),
            [item.report for item in t.waiting(None, 0, 99)],
            dict(t.drops()),
            t.beyond_recall(),
            {item.report.id: item for item in t.sent()},
        ]


def send(t: Transaction, sent: Report, verdict: Verdict) -> None:
    """Put a report, and settle it."""
    t.put(sent)
    t.apply_verdicts([Sent(sent, verdict, None)])


def change_everything_and_fail(t: Transaction) -> None:
    """Make every kind of change there is, then raise."""
    t.choose("one", "denied", DAY)
    t.charge([(ACCOUNTS[0], 5), (ACCOUNTS[1], 1)])
    t.count(SERIES, DAY)
    t.fill_slot(SERIES, b"u" * 16, b"second")
    t.put(report(4))
    t.attempt([report(2).id])
    t.withdraw([report(2).id], "why not")
    t.apply_verdicts([Sent(report(3), Verdict.REJECTED, Reason.TOO_LATE)])
    t.forget_sent(DAY + timedelta(days=9))
    t.unlog([report(1).id])
    t.erase(None)
    t.forget()
    t.set_identity(b"r" * 32, 2)
    raise RuntimeError("planted")


class StateContract(ABC):
    """What every state promises."""

    @pytest.fixture
    def state(self, tmp_path: Path) -> Iterator[State]:
        """A fresh state."""
        state = self.make(tmp_path)
        yield state
        state.close()

    @abstractmethod
    def make(self, folder: Path) -> State:
        """Make a fresh state."""

    def test_a_fresh_state_holds_nothing(self, state: State) -> None:
        """No choice, no identity, nothing spent, nothing waiting, nothing to erase."""
        assert state.choices() == {}
        assert not state.erasure_pending()
        with state.transaction() as t:
            assert t.identity() is None
            assert t.spent(ACCOUNTS) == [0, 0]
            assert t.reports(SERIES, DAY) == (0, 0)
            assert list(t.slots(SERIES)) == []
            assert t.size() == Size(0, 0)
            assert (t.days(), t.waiting(None, 0, 9), t.sent(), dict(t.drops())) == ([], [], [], {})

    def test_what_a_transaction_did_is_there_in_the_next(self, state: State) -> None:
        """Every table keeps what was put in."""
        with state.transaction() as t:
            t.choose("one", "granted", DAY)
            assert t.set_identity(b"s" * 32, 200) == Identity(b"s" * 32, 200, 1)
            t.charge([(ACCOUNTS[0], 5), (ACCOUNTS[1], 7)])
            t.charge([(ACCOUNTS[0], 6)])
            t.count(SERIES, DAY)
            t.count(SERIES, DAY + timedelta(days=1))
            t.fill_slot(SERIES, b"t" * 16, b"first")
            t.fill_slot(SERIES, b"u" * 16, b"second")
            t.put(report(1))
        assert state.choices() == {"one": ("granted", DAY)}
        with state.transaction() as t:
            assert t.identity() == Identity(b"s" * 32, 200, 1)
            assert t.spent(ACCOUNTS) == [11, 7]
            assert t.reports(SERIES, DAY) == (2, 1)
            assert set(t.slots(SERIES)) == {b"t" * 16, b"u" * 16}
            assert t.last_permanent(SERIES) == b"second"
            assert t.waiting(None, 0, 9)[0].report == report(1)

    def test_a_failed_transaction_leaves_no_trace(self, state: State) -> None:
        """An exception undoes every kind of change."""
        with state.transaction() as t:
            t.choose("one", "granted", DAY)
            t.set_identity(b"s" * 32, 1)
            t.charge([(ACCOUNTS[0], 5)])
            t.count(SERIES, DAY)
            t.fill_slot(SERIES, b"t" * 16, b"first")
            for number in (1, 2, 3):
                t.put(report(number))
            t.apply_verdicts([Sent(report(1), Verdict.ACCEPTED, None)])
        before = contents(state)
        with pytest.raises(RuntimeError, match="planted"), state.transaction() as t:
            change_everything_and_fail(t)
        assert contents(state) == before

    def test_the_outbox_is_read_in_pages_oldest_first(self, state: State) -> None:
        """Pages of one day, or of all, follow each other without gap or overlap."""
        other = DAY - timedelta(days=1)
        with state.transaction() as t:
            for number in range(1, 6):
                t.put(report(number, DAY if number % 2 else other))
            assert t.days() == [other, DAY]
            first = t.waiting(DAY, 0, 2)
            rest = t.waiting(DAY, first[-1].position, 2)
            assert [w.report.payload[0] for w in (*first, *rest)] == [1, 3, 5]
            assert [w.report.payload[0] for w in t.waiting(None, 0, 9)] == [1, 2, 3, 4, 5]

    def test_the_size_follows_every_change(self, state: State) -> None:
        """Size counts what was put, dropped, settled and erased."""
        each = OVERHEAD_BYTES + 1
        with state.transaction() as t:
            for number in range(1, 6):
                t.put(report(number, purpose="one" if number < 5 else "two"))
            assert t.size() == Size(5, 5 * each)
            assert t.withdraw([report(1).id, report(1).id, b"unknown"], "why") == 1
            assert t.apply_verdicts([Sent(report(2), Verdict.DUPLICATE, None)]) == 1
            assert t.size() == Size(3, 3 * each)
            t.erase("one")
            assert t.size() == Size(1, each)
            assert [w.report for w in t.waiting(None, 0, 9)] == [report(5, purpose="two")]
            assert dict(t.drops()) == {"why": 1, "denied": 2}

    def test_an_answer_that_comes_twice_is_logged_once(self, state: State) -> None:
        """Settling the same id again changes neither log nor counts."""
        rejected = Sent(report(1), Verdict.REJECTED, Reason.TOO_LATE)
        with state.transaction() as t:
            t.put(report(1))
            assert t.apply_verdicts([rejected]) == 1
            assert t.apply_verdicts([rejected]) == 0
            assert t.sent() == [rejected]
            assert dict(t.drops()) == {"rejected:too_late": 1}

    def test_the_sent_log_forgets_by_day(self, state: State) -> None:
        """What is dated before a day goes, what is of that day stays."""
        with state.transaction() as t:
            yesterday = DAY - timedelta(days=1)
            send(t, report(1), Verdict.ACCEPTED)
            send(t, report(2, yesterday), Verdict.ACCEPTED)
            send(t, report(3, yesterday), Verdict.REJECTED)
            t.forget_sent(DAY)
            assert [item.report for item in t.sent()] == [report(1)]
            assert t.beyond_recall() == 1

    def test_what_was_on_its_way_when_withdrawn_is_unconfirmed(self, state: State) -> None:
        """A report that was never sent is a plain drop; one on its way may have been counted, and
        is kept in the log until its verdict comes, which then is the only count of it.
        """
        with state.transaction() as t:
            for number in (1, 2, 3):
                t.put(report(number))
            assert set(t.attempt([report(1).id, report(2).id, b"unknown"])) == {
                report(1).id,
                report(2).id,
            }
            assert t.withdraw([r.id for r in map(report, (1, 2, 3, 4))], "denied") == 3
            assert t.size() == Size(0, 0)
            assert dict(t.drops()) == {"denied": 1, "unconfirmed:denied": 2}
            assert set(t.sent()) == {Sent(report(n), None, "denied") for n in (1, 2)}
        with state.transaction() as t:
            rejected = Sent(report(2), Verdict.REJECTED, Reason.TOO_LATE)
            assert t.apply_verdicts([Sent(report(1), Verdict.ACCEPTED, None), rejected]) == 2
            assert dict(t.drops()) == {"denied": 1, "rejected:too_late": 1}
            assert set(t.sent()) == {Sent(report(1), Verdict.ACCEPTED, None), rejected}

    def test_what_was_forgotten_gets_no_verdict(self, state: State) -> None:
        """An answer that comes after everything was forgotten brings nothing back."""
        with state.transaction() as t:
            for number in (1, 2):
                send(t, report(number), Verdict.ACCEPTED)
            t.unlog([report(1).id])
            assert [item.report for item in t.sent()] == [report(2)]
            t.forget_sent(DAY + timedelta(days=1))
            assert t.beyond_recall() == 1
            t.put(report(3))
            t.attempt([report(3).id])
            t.erase(None)
            t.forget()
            assert (t.sent(), dict(t.drops()), t.beyond_recall()) == ([], {}, 0)
            assert t.apply_verdicts([Sent(report(3), Verdict.ACCEPTED, None)]) == 0
            assert t.sent() == []

    def test_erasure_leaves_the_ledger_and_starts_a_new_epoch(self, state: State) -> None:
        """Secret, memo, counts and outbox go; totals and the sent log stay; the next secret is of
        the next epoch.
        """
        with state.transaction() as t:
            t.set_identity(b"s" * 32, 1)
            t.charge([(ACCOUNTS[0], 5)])
            t.count(SERIES, DAY)
            t.fill_slot(SERIES, b"t" * 16, b"first")
            t.put(report(1))
            send(t, report(2), Verdict.ACCEPTED)
            t.erase(None)
        assert state.scrub()
        assert not state.erasure_pending()
        with state.transaction() as t:
            assert t.identity() is None
            assert list(t.slots(SERIES)) == []
            assert t.reports(SERIES, DAY) == (0, 0)
            assert t.spent(ACCOUNTS) == [5, 0]
            assert len(t.sent()) == 1
            assert t.set_identity(b"r" * 32, 2).epoch == 2

    def test_one_transaction_at_a_time(self, state: State) -> None:
        """A second thread waits, and gives up after its time."""
        inside, done = threading.Event(), threading.Event()

        def hold() -> None:
            with state.transaction():
                inside.set()
                done.wait(10)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait(10)
        with pytest.raises(StateBusy, match=r"0\.05 s"), state.transaction(wait=0.05):
            pass
        done.set()
        thread.join()
        with state.transaction():
            pass

    def test_one_upload_at_a_time(self, state: State) -> None:
        """The turn to upload is taken by one at a time, and given back."""
        with state.upload_turn() as first:
            assert first
            with state.upload_turn() as second:
                assert not second
        with state.upload_turn() as third:
            assert third


def apply(t: Transaction, kind: str, number: int) -> object:
    """Make one change, and return what it answers."""
    answer: object = None
    match kind:
        case "put":
            # An id is drawn once: the same report is never put in twice.
            known = {w.report.id for w in t.waiting(None, 0, 99)} | {s.report.id for s in t.sent()}
            if report(number).id not in known:
                t.put(report(number, purpose=str(number % 2)))
        case "refused":
            t.refused([report(number).id, report(number + 1).id])
        case "attempt":
            answer = set(t.attempt([report(number).id, report(number + 1).id]))
        case "withdraw":
            answer = t.withdraw([report(number).id, report(number + 1).id], f"why {number % 3}")
        case "apply_verdicts":
            answer = t.apply_verdicts([Sent(report(number), list(Verdict)[number % 3], None)])
        case "unlog":
            t.unlog([report(number).id])
        case "forget":
            t.forget()
        case "charge":
            t.charge([(ACCOUNTS[number % 2], number)])
        case "count":
            t.count(SERIES, DAY + timedelta(days=number % 3))
        case "slot":
            tag = bytes([number]) * 16
            if tag not in t.slots(SERIES):
                t.fill_slot(SERIES, tag, bytes([number]))
        case "set_identity":
            answer = t.set_identity(bytes([number]) * 32, number)
        case "erase":
            t.erase((None, "0", "1")[number % 3])
    return answer


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    *(
                        "put",
                        "put",
                        "attempt",
                        "withdraw",
                        "refused",
                        "apply_verdicts",
                        "apply_verdicts",
                        "unlog",
                    ),
                    *("charge", "count", "slot", "set_identity", "erase", "forget"),
                ]
            ),
            st.integers(0, 9),
        ),
        max_size=30,
    )
)
def test_memory_and_file_answer_alike(steps: list[tuple[str, int]]) -> None:
    """Any history of changes leaves the same contents in both, and gives the same answers."""
    with tempfile.TemporaryDirectory() as folder:
        states: list[State] = [MemoryState(), SqliteState(Path(folder) / "state")]
        answers = []
        for state in states:
            with state.transaction() as t:
                answers.append([apply(t, *step) for step in steps])
        assert answers[0] == answers[1]
        memory, file = (contents(state) for state in states)
        assert memory == file
        states[1].close()


class TestMemoryState(StateContract):
    """A state in memory."""

    def make(self, folder: Path) -> State:
        """Make one."""
        return MemoryState()


class TestSqliteState(StateContract):
    """A state in a file."""

    def make(self, folder: Path) -> State:
        """Make one, in a folder that doesn't exist yet."""
        return SqliteState(folder / "data" / "state.sqlite3")

    def test_a_state_opened_again_is_the_same(self, tmp_path: Path) -> None:
        """Closing and opening changes nothing, in this process or another."""
        state = self.make(tmp_path)
        with state.transaction() as t:
            t.set_identity(b"s" * 32, 1)
            t.put(report(1))
            t.choose("one", "granted", DAY)
        before = contents(state)
        state.close()
        again = self.make(tmp_path)
        assert contents(again) == before
        again.close()
