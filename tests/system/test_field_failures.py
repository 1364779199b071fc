"""Failures that were met in the field, played against a real collector and a real device.

Each test names the case it answers. Devices run as programs of their own, as an app would.
"""

import base64
import json
import os
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.harness.collector_process import RUMOR, Serving
from tests.harness.field_devices import (
    EXACT,
    KRR,
    METRICS,
    SIXTEEN,
    batch,
    between,
    n,
    registry,
    results,
    run_device,
    text,
)


def test_a_lost_answer_counts_once_and_charges_once(collector: Serving, tmp_path: Path) -> None:
    """QU-01: the collector commits and the answer is lost, thrice: the retry has the same bytes, n
    rises once, the budget is charged once, and another body under the same id is refused.
    """
    plan = {1: "drop", 2: "503", 3: "drop"}
    with between(collector, lambda number: plan.get(number, "pass")) as (port, bodies):
        script = """
assert client.record("replayed", "a").recorded
done = [client.flush() for _ in range(4)]
print([each.status.value for each in done], done[-1].duplicate, client.status().waiting)
"""
        out = run_device(script, tmp_path, port)
    assert out == "['later', 'later', 'later', 'done'] 1 0\n"
    assert len(bodies) == 4
    assert len(set(bodies)) == 1
    assert n(collector, "replayed") == 1
    changed = json.loads(bodies[0])
    payload = base64.b64decode(changed["reports"][0]["payload"])
    changed["reports"][0]["payload"] = text(bytes([(payload[0] + 1) % 3]))
    (result,) = results(collector, changed)
    assert (result["verdict"], result["reason"]) == ("rejected", "conflicting_duplicate")
    assert n(collector, "replayed") == 1
    more = batch("replayed", [b"\0", b"\0"], base64.b64decode(changed["pseudonym"]))
    assert [each["verdict"] for each in results(collector, more)] == ["accepted", "rejected"]


def test_a_fork_sends_seven(collector: Serving, tmp_path: Path) -> None:
    """QU-02: one before the fork, five by the child, one by the parent: exactly seven arrive."""
    script = """
client = device()
client.record("fork", "a")
pid = os.fork()
if pid == 0:
    for _ in range(5):
        assert client.record("fork", "a").recorded
    assert client.flush().waiting == 0
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
client.record("fork", "a")
client.flush(timeout=10)
print(client.status().waiting)
"""
    started = time.monotonic()
    assert run_device(script, tmp_path, collector.port) == "0\n"
    assert time.monotonic() - started < 30
    assert n(collector, "fork") == 7


def test_a_refused_report_blocks_nothing(collector: Serving, tmp_path: Path) -> None:
    """QU-03: the fourth of ten is for a metric that the collector no longer has: nine arrive."""
    script = """
for number in range(10):
    assert client.record("gone" if number == 3 else "kept", "a").recorded
for _ in range(5):
    client.flush()
print(client.status().waiting, dict(client.status().dropped))
"""
    metrics = {**METRICS, "gone": KRR}
    out = run_device(script, tmp_path, collector.port, metrics=metrics)
    assert out == "0 {'rejected:unknown_metric': 1}\n"
    assert n(collector, "kept") == 9


def test_after_a_denial_nothing_arrives(tmp_path: Path) -> None:
    """QU-04: five reports while the collector is down, a denial, the collector comes up: none
    arrives, now or from the next process, and recording spends nothing.
    """
    serving = Serving(tmp_path, registry(**METRICS))
    script = """
for _ in range(5):
    assert client.record("kept", "a").recorded
assert client.flush().status == "later"
client.consent.deny()
"""
    run_device(script, tmp_path, serving.port)
    serving.start()
    try:
        script = """
client.consent.deny()
before = client.status().spent_life
print(client.flush().status.value, client.record("kept", "a").status.value)
print(client.status().spent_life - before, client.status().waiting)
client.close()
"""
        assert run_device(script, tmp_path, serving.port) == "done no_consent\n0 0\n"
        assert n(serving, "kept") == 0
    finally:
        serving.kill()


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata"])
def test_a_day_is_the_utc_date_on_both_sides(zone: str, collector: Serving, tmp_path: Path) -> None:
    """TI-01: whatever the device's time zone, and where it changes under way, a report of the last
    millisecond belongs to the day that ends, and one allowance is renewed at 00:00 UTC.
    """
    script = f"""
midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
now = [midnight - timedelta(milliseconds=1)]
client = device(clock=lambda: now[0])
fits = []
for step in (timedelta(), timedelta(milliseconds=1), timedelta(seconds=1)):
    now[0] += step
    fits.append(client.record("midnight", "a").recorded)
    os.environ["TZ"] = "America/New_York" if len(fits) % 2 else {zone!r}
    time.tzset()
    fits.append(client.record("midnight", "a").recorded)
print(fits, [item.report.day.isoformat() for item in client.waiting()], client.flush().accepted)
"""
    before = n(collector, "midnight")
    today = datetime.now(UTC).date()
    days = [(today - timedelta(days=1)).isoformat(), today.isoformat()]
    out = run_device(script, tmp_path, collector.port, TZ=zone)
    assert out == f"[True, False, True, False, False, False] {days} 2\n"
    assert n(collector, "midnight") == before + 2


@pytest.mark.parametrize("number", range(len(EXACT)))
def test_decimal_budgets_are_exact_on_both_sides(
    number: int, collector: Serving, tmp_path: Path
) -> None:
    """TI-02: 0.3 holds three reports of 0.1, where floats would hold two; device and collector
    agree to the report.
    """
    fits = list(EXACT.values())[number][1]
    metric = f"exact{number}"
    script = f"""
fitted = sum(client.record({metric!r}, "a").recorded for _ in range({fits + 3}))
print(fitted, client.flush().accepted)
"""
    assert run_device(script, tmp_path, collector.port) == f"{fits} {fits}\n"
    found = results(collector, batch(metric, [b"\0"] * (fits + 1)))
    assert [each["verdict"] for each in found] == ["accepted"] * fits + ["rejected"]
    assert found[-1]["reason"] == "budget_exceeded"


def test_the_owner_is_told_the_lifetime_total(collector: Serving, tmp_path: Path) -> None:
    """TI-04: after a year of days the command line states the sum, not the day's headline number,
    and a reinstallation that keeps the file goes on from it.
    """
    script = """
now = datetime(2026, 1, 1, 12, tzinfo=UTC)
for number in range(365):
    day = device(clock=lambda: now + timedelta(days=number))
    assert day.record("midnight", "a").recorded
"""
    run_device(script, tmp_path, collector.port)
    words = [str(RUMOR), "device", "--registry", "device.toml", "--state", "state", "status"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert "spent so far   epsilon 365 (no cap)" in shown.stdout
    assert "an observer's odds change by at most a factor of" in shown.stdout


def test_a_budget_outlives_the_process(tmp_path: Path) -> None:
    """CO-02: of a hundred reports of one device ten fit; after a restart none of ten more does."""
    serving = Serving(tmp_path, registry(kept={**KRR, "daily_epsilon": 10}))
    serving.start()
    try:
        name = os.urandom(16)
        verdicts = []
        for repeat in range(5):
            if repeat == 4:
                serving.kill()
                serving.start()
            found = results(serving, batch("kept", [b"\0"] * 25, name))
            verdicts.append(sum(each["verdict"] == "accepted" for each in found))
        assert verdicts == [10, 0, 0, 0, 0]
        assert n(serving, "kept") == 10
    finally:
        serving.kill()


def test_a_lone_surrogate_kills_nobody(collector: Serving, tmp_path: Path) -> None:
    """EN-01: a lone surrogate in any text is refused with 400, and the next request is served; the
    device raises a ValueError and goes on.
    """
    good = batch("kept", [b"\0"])
    for path in (["sdk"], ["day"], ["pseudonym"], ["reports", 0, "id"], ["reports", 0, "metric"]):
        bad = json.loads(json.dumps(good))
        place = bad
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = "\ud800"
        body = json.dumps(bad).encode()
        assert b"\\ud800" in body
        assert collector.request("POST", "/v1/reports", body).status == 400
        assert collector.request("GET", "/healthz").status == 200
    script = """
for metric in ("kept", "sixteen"):
    try:
        client.record(metric, "\\ud800")
    except ValueError as error:
        print(type(error).__name__, "\\ud800" in str(error))
print(client.record("sixteen", "\\U0001f4a9").recorded)
"""
    out = run_device(script, tmp_path, collector.port)
    assert out == "InvalidValue False\nInvalidValue False\nTrue\n"


def test_another_width_is_refused_and_said(collector: Serving, tmp_path: Path) -> None:
    """EN-02: against 16 bits, payloads of 0, 8 and 24 bits are refused with both widths in the
    detail; a device with an older registry of 8 bits is refused too; 16 bits are taken.
    """
    payloads = [b"", b"\1", b"\1\0\0", b"\1\0"]
    found = results(collector, batch("sixteen", payloads))
    assert [each["verdict"] for each in found] == ["rejected"] * 3 + ["accepted"]
    for result, payload in zip(found[:3], payloads, strict=False):
        assert result["reason"] == "malformed_payload"
        assert f"{len(payload)} bytes" in result["detail"]
        assert "16 bits" in result["detail"]
    before = n(collector, "sixteen")
    script = """
client.record("sixteen", "x")
print(client.flush().rejected, dict(client.status().dropped))
"""
    older = {"sixteen": {**SIXTEEN, "bits": 8}}
    out = run_device(script, tmp_path, collector.port, metrics=older)
    assert out == "1 {'rejected:malformed_payload': 1}\n"
    assert n(collector, "sixteen") == before


def test_bit_order_and_padding_are_read_as_written(collector: Serving) -> None:
    """EN-03: with k = 11, bit i alone is 1 << i in two little-endian bytes; sent i + 1 times each,
    the estimates come out in that order; a set padding bit is refused.
    """
    assert (1).to_bytes(2, "little") == b"\x01\x00"
    for bit in range(11):
        payload = (1 << bit).to_bytes(2, "little")
        for _ in range(bit + 1):
            (result,) = results(collector, batch("eleven", [payload]))
            assert result["verdict"] == "accepted"
    for bit in range(11, 16):
        (result,) = results(collector, batch("eleven", [(1 << bit).to_bytes(2, "little")]))
        assert (result["verdict"], result["reason"]) == ("rejected", "malformed_payload")
    rows = collector.request("GET", "/v1/metrics/eleven/estimates").json["rows"]
    shares = {row["value"]: row["frequency"] for row in rows}
    assert sorted(shares, key=lambda value: shares[value]) == [f"v{bit}" for bit in range(11)]


def test_forget_takes_back_from_a_real_collector(collector: Serving, tmp_path: Path) -> None:
    """What a device has sent is subtracted at its word, over two days and after a lost answer, and
    what hadn't come yet never counts.
    """
    before = n(collector, "fork")
    with between(collector, lambda number: "drop" if number == 3 else "pass") as (port, _):
        script = """
now = datetime.now(UTC)
yesterday = device(clock=lambda: now - timedelta(days=1))
for each in (yesterday, client):
    for _ in range(3):
        assert each.record("fork", "a").recorded
    print(each.flush().accepted)
client.record("fork", "a")
print(client.flush().status.value, client.status().sent)
"""
        out = run_device(script, tmp_path, port)
    assert out == "3\n3\nlater 6\n"
    assert n(collector, "fork") == before + 7
    words = [str(RUMOR), "device", "--registry", "device.toml", "--state", "state"]
    words += ["--endpoint", f"http://127.0.0.1:{collector.port}", "forget"]
    shown = subprocess.run(words, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert shown.stdout == "taken back     7 reports\nnever sent     0 reports, deleted\n"
    assert shown.returncode == 0, shown.stderr
    assert n(collector, "fork") == before
