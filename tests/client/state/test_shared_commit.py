"""Threads that record at the same time share a commit, and none is told before it (D-08)."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest
from tests.harness.devices import device

from rumor_client import SqliteState, StateBusy
from rumor_client.state.protocol import Transaction


def at_once(count: int, work: object) -> None:
    """Run a function in so many threads at the same time."""
    assert callable(work)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def test_two_hundred_threads_are_not_busy(tmp_path: Path) -> None:
    """200 threads record five times each: hardly one is `busy` (it was 89 in 100), each of those
    is counted, and every report that was called recorded is there.
    """
    client = device(state=tmp_path / "state")
    seen = Counter[str]()

    def record(number: int) -> None:
        for _ in range(5):
            seen[client.record("theme", "dark").status.value] += 1

    at_once(200, record)
    assert set(seen) <= {"recorded", "busy"}
    assert seen["busy"] <= 200, "a disk that is this slow shows nothing"
    status = client.status()
    assert status.waiting == seen["recorded"]
    assert status.spent_today == seen["recorded"] * 1_000_000
    assert status.busy == seen["busy"]
    client.close()


def test_each_work_is_whole_or_undone_by_itself(tmp_path: Path) -> None:
    """Of many works in one commit, each that raises is undone, and tells its own thread why."""
    state = SqliteState(tmp_path / "state")
    raised: list[int] = []

    def store(number: int) -> None:
        def work(transaction: Transaction) -> None:
            transaction.lose(f"reason {number}", 1)
            if number % 3 == 0:
                raise ZeroDivisionError(number)

        try:
            state.run(work, 5)
        except ZeroDivisionError as error:
            raised.append(error.args[0])

    at_once(30, store)
    with state.transaction() as transaction:
        kept = transaction.drops()
    assert sorted(raised) == list(range(0, 30, 3))
    assert set(kept) == {f"reason {number}" for number in range(30) if number % 3}
    state.close()


def test_busy_means_not_stored(tmp_path: Path) -> None:
    """Where another process holds the file, a work that gave up is never stored later."""
    path = tmp_path / "state"
    state, other = SqliteState(path), SqliteState(path)
    with state.transaction():
        pass
    ends: list[str] = []

    def store(number: int) -> None:
        try:
            state.run(lambda transaction: transaction.lose("late", 1), 0.05)
        except StateBusy:
            ends.append("busy")
        else:
            ends.append("stored")

    with other.transaction():
        at_once(20, store)
    assert ends == ["busy"] * 20
    state.run(lambda transaction: transaction.lose("now", 1))
    with state.transaction() as transaction:
        assert transaction.drops() == {"now": 1}
    state.close()
    other.close()


def test_busy_answers_are_counted_in_the_file(tmp_path: Path) -> None:
    """What was `busy` is in the status, also of another process, once a report was stored."""
    path = tmp_path / "state"
    client, blocker = device(state=path), SqliteState(path)
    with blocker.transaction():
        assert client.record("theme", "dark").status == "busy"
    assert client.status().busy == 1
    assert client.record("theme", "dark").recorded
    assert (client.status().busy, client.status().dropped) == (1, {})
    assert "1 answers found the state locked" in str(device(state=path).status())
    client.close()
    blocker.close()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_for_the_thread_that_it_hit(
    tmp_path: Path, interrupt: type[BaseException]
) -> None:
    """It undoes the transaction, and leaves the state in order."""
    state = SqliteState(tmp_path / "state")

    def work(transaction: Transaction) -> None:
        transaction.lose("never", 1)
        raise interrupt

    with pytest.raises(interrupt):
        state.run(work)
    state.run(lambda transaction: transaction.lose("now", 1))
    with state.transaction() as transaction:
        assert transaction.drops() == {"now": 1}
    state.close()
