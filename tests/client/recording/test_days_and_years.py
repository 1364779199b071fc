"""Days that are not 24 hours long, and years of reports: one allowance a date, a bounded life."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import sqrt
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.harness.devices import KRR, device, registry_with

from rumor_client.testing import FakeClock, seeded

NEW_YORK = ZoneInfo("America/New_York")
ONE_A_DAY = {"theme": {**KRR, "daily_epsilon": 1}}


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The process's time zone, put back afterwards."""
    with monkeypatch.context() as patch:
        yield patch
    time.tzset()


@pytest.mark.parametrize(
    ("day", "hours"), [((2026, 3, 8), 23), ((2026, 11, 1), 25), ((2026, 6, 1), 24)]
)
def test_a_local_day_of_23_or_25_hours_renews_nothing(
    day: tuple[int, int, int], hours: int
) -> None:
    """A device that lives by New York's clock has one allowance for each UTC date it meets, on the
    days that daylight saving makes shorter or longer too (TI-01).
    """
    begin = datetime(*day, tzinfo=NEW_YORK).astimezone(UTC)
    end = (datetime(*day, tzinfo=NEW_YORK) + timedelta(days=1)).astimezone(UTC)
    assert end - begin == timedelta(hours=hours)
    clock = FakeClock()
    client = device(registry_with(ONE_A_DAY), clock=clock)
    moment, granted = begin, Counter[str]()
    while moment < end:
        clock.now = moment.astimezone(NEW_YORK)
        granted[moment.date().isoformat()] += client.record("theme", "dark").recorded
        moment += timedelta(minutes=10)
    assert granted == {begin.date().isoformat(): 1, end.date().isoformat(): 1}


def test_a_change_of_zone_under_way_renews_nothing(zone: pytest.MonkeyPatch) -> None:
    """A process that travels around the world within a UTC date has one allowance (TI-01)."""
    client = device(registry_with(ONE_A_DAY))
    fits = []
    for name in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata"):
        zone.setenv("TZ", name)
        time.tzset()
        fits.append(client.record("theme", "dark").recorded)
    assert fits == [True, False, False, False]


def guesses(fields: dict[str, Any], reports: int, devices: int) -> int:
    """Return how many devices' bit an observer guesses who averages all reports of each."""
    registry = registry_with(
        {"answer": {**fields, "values": ["no", "yes"], "daily_epsilon": 1000}},
        daily_epsilon=1000,
        max_age_days=90,
    )
    draw, right = random.Random(5), 0
    for number in range(devices):
        truth = draw.randrange(2)
        clock = FakeClock()
        client = device(registry, clock=clock, randomness=seeded(number))
        for _ in range(reports):
            assert client.record("answer", ["no", "yes"][truth]).recorded
            clock.move(hours=2)
        said = [item.report.payload[0] for item in client.waiting()]
        if fields["mechanism"] == "binary":
            score = 2 * sum(said) - len(said)
        else:
            score = sum((byte >> 1) - (byte & 1) for byte in said)
        right += (score > 0) == truth if score else draw.randrange(2)
    return right


def test_a_memo_keeps_a_year_from_telling_more_than_a_permanent_answer_does() -> None:
    """With fresh noise an observer who averages 25 reports knows the value; with a permanent
    answer (f = .5) no number of reports brings the guess beyond what the two permanent bits tell,
    right in 3 of 4 (TI-04). Seeded; each bound is passed by chance less than once in 10^6.
    """
    devices, reports, z = 150, 25, 4.9
    permanent = {"mechanism": "basic_rappor", "f": 0.5, "p": 0.25, "q": 0.75}
    bound = devices * 0.75 + z * sqrt(devices * 0.75 * 0.25)
    assert guesses(permanent, reports, devices) <= bound
    assert guesses({"mechanism": "binary", "epsilon": 1}, reports, devices) > bound


def test_a_lifetime_cap_ends_what_renews_daily() -> None:
    """Without a cap 365 days cost 365 daily allowances, and the status says so; with one they end
    where it says (TI-04).
    """
    for cap, spent in ((None, 365_000_000), (30, 30_000_000)):
        clock = FakeClock()
        client = device(registry_with(ONE_A_DAY), clock=clock, lifetime_cap=cap)
        for _ in range(365):
            client.record("theme", "dark")
            clock.move(days=1)
        assert client.status().spent_life == spent
