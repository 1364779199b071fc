"""Days are closed by themselves, and a clock that jumps is not believed at once."""

import asyncio
import logging
from datetime import date, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from tests.harness.collector import TODAY, Collector, batch, collector, days_ago, report

from rumor_server.errors import Overloaded, StoreUnavailable
from rumor_server.operations.day_closing import HOLD_SECONDS, Hold, close_old_days, compact_deltas
from rumor_server.storage.receipts import Receipts
from rumor_server.storage.writer import Writer


class Clock:
    """Monotonic seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The seconds."""
        return self.now


def test_closes_day_after_day() -> None:
    """A step of one or two days is closed at once, and so is a fresh database."""
    hold = Hold(7, monotonic=Clock())
    assert not hold.holds(date.min, TODAY)
    assert not hold.holds(days_ago(1), TODAY)
    assert not hold.holds(days_ago(2), TODAY)
    assert not hold.holds(TODAY, days_ago(5))


def test_waits_a_day_before_it_believes_a_jump(caplog: pytest.LogCaptureFixture) -> None:
    """A clock three or more days ahead is reported once and closes nothing for a day."""
    clock = Clock()
    hold = Hold(7, monotonic=clock)
    for now in (0, HOLD_SECONDS / 2, HOLD_SECONDS - 1):
        clock.now = now
        assert hold.holds(days_ago(3), TODAY)
    assert len(caplog.records) == 1
    clock.now = HOLD_SECONDS
    assert not hold.holds(days_ago(3), TODAY)


def test_believes_a_clock_that_devices_share(caplog: pytest.LogCaptureFixture) -> None:
    """O-04: many days at once are closed where devices report of today; a hold once begun stays."""
    hold = Hold(7, monotonic=Clock())
    assert not hold.holds(days_ago(20), days_ago(8), lambda: True)
    assert caplog.records == []
    assert hold.holds(days_ago(20), days_ago(8), lambda: False)
    assert hold.holds(days_ago(20), days_ago(8), lambda: True)


@pytest.mark.parametrize(("reported", "closes"), [(0, True), (2, True), (3, False), (None, False)])
def test_closes_what_a_lower_age_leaves(
    running: Collector, tmp_path: Path, reported: int | None, closes: bool
) -> None:
    """O-04: `max_age_days` lowered from 27 to 7 closes at once, unless nobody reports of today."""
    running.store.close_days(days_ago(8))
    running.today = TODAY + timedelta(days=20)
    if reported is not None:
        day = running.today - timedelta(days=reported)
        assert running.verdicts(batch(report(), day=day)) == ["accepted"]

    class Direct:
        async def call(self, work: Any) -> Any:
            return work(running.store)

    async def once() -> None:
        writer, receipts = cast(Writer, Direct()), Receipts(tmp_path / "receipts")
        job = asyncio.create_task(
            close_old_days(writer, receipts, lambda: running.today, Hold(7), 60, ["theme", "page"])
        )
        await asyncio.sleep(0.05)
        job.cancel()

    asyncio.run(once())
    assert running.store.close_days(date.min) == days_ago(8 - (20 if closes else 0))


def test_forgets_a_jump_that_was_set_right() -> None:
    """Once the clock is back, days close as before; another jump waits a day of its own."""
    clock = Clock()
    hold = Hold(7, monotonic=clock)
    assert hold.holds(days_ago(10), TODAY + timedelta(days=9000))
    assert not hold.holds(days_ago(10), days_ago(9))
    clock.now = HOLD_SECONDS
    assert hold.holds(days_ago(9), TODAY)


def test_closes_by_itself(running: Collector, tmp_path: Path) -> None:
    """The job of a running collector closes what is past its age, not further."""
    running.store.close_days(days_ago(9))
    sent = [batch(report(), day=days_ago(days)) for days in (7, 6)]
    for document in sent:
        assert running.verdicts(document) == ["accepted"]
    running.today = TODAY + timedelta(days=1)

    class Direct:
        async def call(self, work: Any) -> Any:
            return work(running.store)

    async def once() -> None:
        writer = cast(Writer, Direct())
        receipts = Receipts(tmp_path / "receipts")
        job = asyncio.create_task(
            close_old_days(writer, receipts, lambda: running.today, Hold(7), 60)
        )
        await asyncio.sleep(0.01)
        job.cancel()

    asyncio.run(once())
    assert running.store.close_days(date.min) == days_ago(7)
    assert running.verdicts(sent[0]) == ["too_late"]
    assert running.verdicts(sent[1]) == ["duplicate"]


@pytest.mark.parametrize("error", [StoreUnavailable("x"), Overloaded(1)])
def test_goes_on_after_a_fault(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """A database that is away is reported, and both jobs try again."""
    caplog.set_level(logging.WARNING)

    class Away:
        calls = 0

        async def call(self, work: Any) -> Any:
            self.calls += 1
            raise error

    async def some() -> int:
        away = Away()
        writer, receipts = cast(Writer, away), Receipts(Path("nowhere"))
        jobs = [
            asyncio.create_task(close_old_days(writer, receipts, lambda: TODAY, Hold(7), 0)),
            asyncio.create_task(compact_deltas(writer, 0)),
        ]
        await asyncio.sleep(0.01)
        for job in jobs:
            job.cancel()
        return away.calls

    assert asyncio.run(some()) > 4
    assert {"days", "tallies"} == {record.message.split()[0] for record in caplog.records}


@pytest.mark.parametrize("ahead", [3, 40, 4000])
def test_c03_refuses_nothing_while_the_clock_is_in_doubt(tmp_path: Path, ahead: int) -> None:
    """C-03: today's reports hear `retry` under a clock far ahead, and are counted once it is back.

    Nothing of theirs is too late to be taken back, and a clock that is right again is believed.
    """
    with collector(tmp_path / "rumor.sqlite3") as running:
        running.store.close_days(days_ago(8))
    with collector(tmp_path / "rumor.sqlite3") as running:
        sent, counted = batch(report(), day=days_ago(5)), batch(report(), day=days_ago(5))
        assert running.verdicts(counted) == ["accepted"]
        running.today = TODAY + timedelta(days=ahead)
        assert running.verdicts(sent) == ["clock_in_doubt"]
        assert running.send(sent)[0]["verdict"] == "retry"
        assert running.verdicts(counted) == ["duplicate"]
        running.today = TODAY
        assert running.verdicts(sent) == ["accepted"]
        assert running.verdicts(batch(report(), day=days_ago(8))) == ["too_late"]
