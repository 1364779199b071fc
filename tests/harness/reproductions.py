"""Histories that once failed, shrunk and kept by name; each is played again in every run.

A history failed either on the code as it was, or under a fault that was planted to see whether
random histories find it. When a random history fails, hypothesis prints the shrunk one: mend the
fault, and put the steps here under a name that says what went wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

# Each side plays its own histories, and needs nothing of the other.
if TYPE_CHECKING:
    from tests.harness.collector_history import Step

# A rule of `device_history.Histories`, and what it is given.
DeviceStep = tuple[str, Mapping[str, Any]]


def use(records: int, flushes: int = 0) -> DeviceStep:
    """The first device reports some values, and uploads."""
    return "use", {"number": 0, "records": records, "flushes": flushes}


def meanwhile(what: str, records: int = 0, flushes: int = 0) -> DeviceStep:
    """The first device's other process acts while the next request is under way."""
    return "act_meanwhile", {"number": 0, "what": what, "records": records, "flushes": flushes}


DEVICE: Mapping[str, list[DeviceStep]] = {
    # A fifth report pushes the oldest out of an outbox of four.
    "an eviction that no drop told of": [use(1), use(1), use(1), use(2)],
    # The receipt names an id that the collector never saw.
    "a batch that was sent under other ids": [use(1, flushes=1)],
    "a report that no account was charged for": [use(1)],
    "a report beyond the cap of its day": [use(1), use(3), use(3)],
    # Four reports of the other process evict what is under way; a third process forgets; a
    # clock that goes back sends what a denial should have deleted.
    "a report that outlived a denial": [
        meanwhile("record"),
        meanwhile("forget"),
        meanwhile("record", records=1),
        ("jump", {"days": -1, "number": 0, "records": 1, "flushes": 1}),
    ],
    # The outbox is full while its oldest report is on the way, then all is forgotten.
    "a report that still counts after it was forgotten": [meanwhile("record", records=1)],
    # What was evicted while its request was under way may have been counted: the first client
    # called it lost for certain.
    "a drop for certain of what was counted": [meanwhile("record", records=1, flushes=1)],
    "a debit without its report": [
        ("crash", {"commits": 1, "after": False, "number": 0, "records": 1, "flushes": 0})
    ],
}

_MANY: list[Step] = [("send", number, number * 7, 2) for number in range(12)]
COLLECTOR: Mapping[str, list[Step]] = {
    "a tally that was written twice": [("send", 0, 0, 2)],
    "a tally that was not written": [("send", 0, 0, 2)],
    # Retractions that came after the backup are replayed from receipts; `c` is 2, so each was
    # answered.
    "a retraction that a restore undid": [
        *_MANY,
        ("backup", 0, 0, 0),
        *[("retract", 1, number, 2) for number in range(8)],
        *[("replay", 1, number, 2) for number in range(8)],
        ("restore", 0, 0, 2),
    ],
    # `a` is even, so days stay closed: what was sent on them would be taken twice.
    "a day that a restore opened": [
        ("send", 0, 0, 2),
        ("backup", 0, 0, 0),
        ("restore", 0, 0, 2),
        ("send", 0, 2, 2),
    ],
}


def play_device(steps: list[DeviceStep]) -> None:
    """Play the steps on new devices, hold every invariant after each, and wind up."""
    from tests.harness.device_history import Histories

    machine = Histories()
    for name, given in steps:
        getattr(machine, name)(**given)
        machine.no_value_counts_twice()
        machine.nothing_is_lost_unseen()
        machine.what_was_spent_was_reported_within_the_cap()
    machine.teardown()
