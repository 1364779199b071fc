"""Budgets on the device: exact sums, one allowance a UTC date, and no cap that can be passed."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.devices import KRR, NOON, RAPPOR, device, registry_with

from rumor_client import Cap, Client, ConfigurationError, RecordStatus
from rumor_client.process.clock import utc_now
from rumor_client.recording.ledger import app_cap
from rumor_client.recording.result import Result
from rumor_client.testing import FakeClock


def record_until_refused(client: Client, metric: str = "theme") -> tuple[int, Result]:
    """Return how many records fitted, and the first refusal."""
    for fitted in range(10_000):
        result = client.record(metric, "dark")
        if not result.recorded:
            return fitted, result
    raise AssertionError("no cap was met")


@pytest.mark.parametrize(
    ("daily", "epsilon", "fits"), [("0.3", "0.1", 3), ("0.6", "0.2", 3), ("1.0", "0.1", 10)]
)
@pytest.mark.parametrize("on_disk", [False, True])
def test_decimal_budgets_add_up_exactly(
    daily: str, epsilon: str, fits: int, on_disk: bool, tmp_path: Path
) -> None:
    """A budget of 0.3 takes exactly three reports of 0.1, where floats would take two (TI-02)."""
    theme = {**KRR, "epsilon": Decimal(epsilon), "daily_epsilon": Decimal(daily)}
    client = device(registry_with({"theme": theme}), state=tmp_path / "state" if on_disk else None)
    fitted, refused = record_until_refused(client)
    assert fitted == fits
    assert refused.status is RecordStatus.BUDGET_EXCEEDED
    assert refused.account is Cap.METRIC
    client.close()


def test_a_refusal_says_which_cap_how_much_and_until_when() -> None:
    """A refusal carries the account, what was asked, what is left, and when it starts anew."""
    clock = FakeClock(NOON)
    client = device(clock=clock, daily_cap="2.5")
    fitted, refused = record_until_refused(client)
    assert fitted == 2
    assert (refused.account, refused.asked, refused.left) == (Cap.APP_DAY, 1_000_000, 500_000)
    assert refused.until == datetime(2026, 12, 1, tzinfo=UTC)
    assert "0.5 left until 2026-12-01 00:00 UTC" in str(refused)


def test_a_cap_holds_to_the_last_micro_epsilon() -> None:
    """A report fits under exactly its cost, and not under a millionth less."""
    cost = registry_with().metric("theme").mechanism.epsilon_report
    assert device(daily_cap=Decimal(cost) / 10**6).record("theme", "dark").recorded
    refused = device(daily_cap=Decimal(cost - 1) / 10**6).record("theme", "dark")
    assert (refused.asked, refused.left) == (cost, cost - 1)


def test_a_refusal_writes_nothing() -> None:
    """A refused report leaves ledger, outbox and identity as they were."""
    client = device(daily_cap=0)
    before = client.status()
    assert client.record("theme", "dark").status is RecordStatus.BUDGET_EXCEEDED
    assert client.status() == before
    with client.state.transaction() as transaction:
        assert transaction.identity() is None


def _caps() -> list[tuple[Cap, dict[str, Any], dict[str, Any], dict[str, Any]]]:
    return [
        (Cap.METRIC, {"daily_epsilon": 3}, {}, {}),
        (Cap.DAY, {}, {"daily_epsilon": 3}, {}),
        (Cap.APP_DAY, {}, {}, {"daily_cap": 3}),
        (Cap.METRIC_LIFE, {"lifetime_epsilon": 3}, {}, {}),
        (Cap.LIFE, {}, {"lifetime_epsilon": 3}, {}),
        (Cap.APP_LIFE, {}, {}, {"lifetime_cap": 3}),
    ]


@pytest.mark.parametrize(("cap", "metric", "top", "app"), _caps(), ids=str)
def test_each_cap_holds_alone(
    cap: Cap, metric: dict[str, Any], top: dict[str, Any], app: dict[str, Any]
) -> None:
    """Each cap lets through what fits under it, is named in the refusal, and ends in time."""
    clock = FakeClock()
    client = device(registry_with({"theme": {**KRR, **metric}}, **top), clock=clock, **app)
    fitted, refused = record_until_refused(client)
    assert (fitted, refused.account, refused.left) == (3, cap, 0)
    clock.move(days=1)
    if refused.until is None:
        assert client.record("theme", "dark").account is cap
    else:
        assert refused.until <= clock()
        assert client.record("theme", "dark").recorded


def test_a_family_shares_one_allowance() -> None:
    """Correlated metrics share the largest allowance that one of them declares."""
    metrics = {
        "version": {**KRR, "family": "browser", "daily_epsilon": 2},
        "vendor": {**KRR, "family": "browser", "daily_epsilon": 1},
        "theme": {**KRR, "daily_epsilon": 2},
    }
    client = device(registry_with(metrics, daily_epsilon=100))
    assert client.record("vendor", "dark").recorded
    assert client.record("version", "dark").recorded
    assert client.record("version", "dark").account is Cap.FAMILY
    assert client.record("vendor", "dark").account is Cap.METRIC
    assert client.record("theme", "dark").recorded


def test_a_renamed_metric_pays_from_its_familys_lifetime() -> None:
    """A rename that keeps its family meets what the family has already lost for life."""
    old = {"theme": {**KRR, "family": "looks", "lifetime_epsilon": 2}}
    client = device(registry_with(old))
    assert record_until_refused(client)[0] == 2
    new = {"appearance": {**KRR, "family": "looks", "lifetime_epsilon": 2}}
    renamed = device(registry_with(new), state=client.state)
    assert renamed.record("appearance", "dark").account is Cap.FAMILY_LIFE


def test_one_allowance_a_utc_date() -> None:
    """The allowance is renewed once, at 00:00 UTC, whatever the zone of the clock (TI-01)."""
    kiritimati = timezone(timedelta(hours=14))
    clock = FakeClock(
        datetime(2026, 11, 30, 23, 59, 59, 999_999, tzinfo=UTC).astimezone(kiritimati)
    )
    client = device(registry_with({"theme": {**KRR, "daily_epsilon": 1}}), clock=clock)
    assert client.record("theme", "dark").recorded
    assert not client.record("theme", "dark").recorded
    clock.now = datetime(2026, 12, 1, tzinfo=UTC).astimezone(timezone(timedelta(hours=-11)))
    assert client.record("theme", "dark").recorded
    assert not client.record("theme", "dark").recorded
    assert [w.report.day.isoformat() for w in client.waiting()] == ["2026-11-30", "2026-12-01"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata"])
def test_the_systems_clock_is_read_in_utc(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process's time zone moves neither the moment nor the date (TI-01)."""
    before = utc_now()
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        found = utc_now()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found.utcoffset() == timedelta(0)
    assert before <= found <= utc_now()


def test_a_day_of_small_steps_renews_once() -> None:
    """Trying every ten minutes for a day from 18:00 UTC finds exactly one new allowance (TI-01)."""
    clock = FakeClock(datetime(2026, 11, 30, 18, tzinfo=UTC))
    client = device(registry_with({"theme": {**KRR, "daily_epsilon": 3}}), clock=clock)
    fitted = Counter[str]()
    for _ in range(24 * 6 + 1):
        while client.record("theme", "dark").recorded:
            fitted[clock().date().isoformat()] += 1
        clock.move(minutes=10)
    assert fitted == {"2026-11-30": 3, "2026-12-01": 3}


def test_a_clock_set_back_meets_the_account_already_charged() -> None:
    """Setting the clock back to a spent day gives nothing, and forward again nothing new."""
    clock = FakeClock()
    client = device(registry_with({"theme": {**KRR, "daily_epsilon": 1}}), clock=clock)
    for expected, days in ((True, 1), (True, -1), (False, 1), (False, 5), (True, -5)):
        assert client.record("theme", "dark").recorded is expected
        clock.move(days=days)


def test_a_naive_clock_is_refused() -> None:
    """A clock without a zone raises, rather than dating reports by local time (TI-01)."""
    clock = FakeClock()
    client = device(clock=clock)
    clock.now = NOON.replace(tzinfo=None)
    with pytest.raises(ValueError, match="aware"):
        client.record("theme", "dark")


def memoised_metric(**fields: Any) -> dict[str, Any]:
    """A RAPPOR metric with these fields."""
    return {**RAPPOR, **fields}


def test_a_memoised_life_is_charged_by_count_alone() -> None:
    """A permanent answer costs epsilon_infinity for each of the first `max_values` reports,
    whether the value changes or not.
    """
    registry = registry_with({"browser": memoised_metric(max_values=2)}, daily_epsilon=1000)
    infinity = registry.metric("browser").mechanism.epsilon_infinity
    assert infinity is not None
    for values in ("aaaaa", "abcde"):
        client = device(registry)
        spent = []
        for value in values:
            assert client.record("browser", value).recorded
            spent.append(client.status().spent_life)
        assert spent == [infinity, 2 * infinity, 2 * infinity, 2 * infinity, 2 * infinity]


def test_a_memoised_day_costs_the_sum_of_its_reports() -> None:
    """The day is charged epsilon_report for each report, as RAPPOR proves."""
    registry = registry_with({"browser": RAPPOR}, daily_epsilon=1000)
    client = device(registry)
    for _ in range(3):
        client.record("browser", "one")
    assert client.status().spent_today == 3 * registry.metric("browser").mechanism.epsilon_report


def test_a_new_revision_costs_a_new_permanent_answer() -> None:
    """The lifetime account sums over revisions: each redraws the permanent answer."""
    first = registry_with({"browser": RAPPOR}, daily_epsilon=1000)
    client = device(first)
    client.record("browser", "one")
    second = registry_with({"browser": memoised_metric(revision=2)}, daily_epsilon=1000)
    device(second, state=client.state).record("browser", "one")
    infinity = first.metric("browser").mechanism.epsilon_infinity
    assert client.status().spent_life == 2 * (infinity or 0)


@pytest.mark.parametrize("on_disk", [False, True])
def test_parallel_threads_never_pass_a_limit(on_disk: bool, tmp_path: Path) -> None:
    """Of 25 threads that record at once under a limit of 10, exactly 10 do (CO-01)."""
    for repeat in range(20 if not on_disk else 3):
        theme = {**KRR, "daily_epsilon": 10}
        state = tmp_path / f"state-{repeat}" if on_disk else None
        client = device(registry_with({"theme": theme}), state=state)
        results: list[RecordStatus] = []
        barrier = threading.Barrier(25)

        def record(
            client: Client = client,
            barrier: threading.Barrier = barrier,
            results: list[RecordStatus] = results,
        ) -> None:
            barrier.wait()
            result = client.record("theme", "dark")
            while result.status is RecordStatus.BUSY:
                result = client.record("theme", "dark")
            results.append(result.status)

        threads = [threading.Thread(target=record) for _ in range(25)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert Counter(results) == {"recorded": 10, "budget_exceeded": 15}
        assert client.status().spent_today == 10_000_000
        assert client.status().waiting == 10
        client.close()


def test_a_lowered_cap_leaves_nothing_not_less() -> None:
    """Where a newer registry lowers a cap below what is spent, nothing is left, never a debt."""
    client = device(registry_with({"theme": {**KRR, "daily_epsilon": 5}}))
    assert record_until_refused(client)[0] == 5
    lowered = device(registry_with({"theme": {**KRR, "daily_epsilon": 2}}), state=client.state)
    assert lowered.record("theme", "dark").left == 0


@given(st.lists(st.sampled_from(["light", "dark", "system", "unheard of"]), max_size=12))
def test_a_refusal_never_depends_on_the_value(values: list[str]) -> None:
    """Any sequence of values of the same length meets the same answers."""
    registry = registry_with(
        {
            "theme": {**KRR, "other": "system", "daily_epsilon": 3},
            "browser": memoised_metric(max_values=1, lifetime_epsilon=9, daily_epsilon=9),
        },
        daily_epsilon=12,
    )
    ours, theirs = device(registry), device(registry)
    for value in values:
        for metric in ("theme", "browser"):
            assert ours.record(metric, value) == theirs.record(metric, "light")
    # What became `other` is counted in memory alone, for the app's developer.
    assert replace(ours.status(), became_other={}) == replace(theirs.status(), became_other={})


@pytest.mark.parametrize(
    "given", [True, "a lot", float("nan"), float("inf"), -1, "1e-7", 10**7, "1e-999999"]
)
def test_a_cap_that_is_no_epsilon_is_refused(given: Any) -> None:
    """A cap that is not a number from 0 to a million with six decimals names its argument."""
    with pytest.raises(ConfigurationError, match="daily_cap"):
        device(daily_cap=given)


def test_a_cap_is_read_exactly() -> None:
    """A float stands for the decimals it prints as, and 40 digits are no problem."""
    given: list[Any] = [0.3, "0.3", Decimal("0.3"), 2, "1.0000000000000000000000000000000000000000"]
    caps = [app_cap("daily_cap", cap) for cap in given]
    assert caps == [300_000, 300_000, 300_000, 2_000_000, 1_000_000]


def test_sums_stay_integers_in_the_file(tmp_path: Path) -> None:
    """SQLite sums the ledger's micro-epsilon without a float (TI-02)."""
    theme = {**KRR, "epsilon": Decimal("0.1"), "daily_epsilon": Decimal("0.3")}
    client = device(registry_with({"theme": theme}), state=tmp_path / "state")
    assert record_until_refused(client)[0] == 3
    client.close()
    connection = sqlite3.connect(tmp_path / "state")
    rows = connection.execute("SELECT typeof(spent), spent FROM ledger WHERE scope = 'all'")
    assert set(rows) == {("integer", 300_000)}
    connection.close()
