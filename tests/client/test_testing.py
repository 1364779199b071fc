"""The kit that apps test with: it must tell the truth about what an app did."""

from __future__ import annotations

import json

import pytest
from tests.harness.devices import KRR, registry_with

from rumor_client import RecordStatus, testing
from rumor_client.testing import (
    FakeClock,
    FakeCollector,
    RecordingTransport,
    client_for,
    lost,
    seeded,
    watch,
)


def test_all_is_sorted_and_documented() -> None:
    """Every name of the kit is in `__all__`, sorted, and the docstring admits the limits."""
    assert testing.__all__ == sorted(testing.__all__)
    assert all(hasattr(testing, name) for name in testing.__all__)
    assert "What it can't show" in (testing.__doc__ or "")


def test_calls_are_watched_before_they_are_perturbed() -> None:
    """What the app asked to record is kept, goes on to the client, and is asserted by value."""
    client = client_for(registry_with())
    with watch(client) as calls:
        assert client.record("theme", "dark").recorded
        client.record("theme", "light")
    client.record("theme", "system")
    assert [(call.metric, call.value) for call in calls] == [("theme", "dark"), ("theme", "light")]
    calls.assert_recorded("theme")
    calls.assert_recorded("theme", "dark", times=1)
    calls.assert_recorded("theme", times=2)
    calls.assert_recorded("theme", "system", times=0)
    assert client.status().waiting == 3
    with pytest.raises(AssertionError, match="recorded 0 times, expected at least once"):
        calls.assert_recorded("theme", "system")
    with pytest.raises(AssertionError, match="recorded 2 times, expected 3 times"):
        calls.assert_recorded("theme", times=3)
    with pytest.raises(AssertionError, match="recorded: theme"):
        calls.assert_nothing_recorded()


def test_a_refused_call_is_no_record() -> None:
    """Without consent nothing was recorded, and the assertion says why."""
    client = client_for(registry_with(), granted=False)
    with watch(client) as calls:
        assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    calls.assert_nothing_recorded()
    with pytest.raises(AssertionError, match="no_consent"):
        calls.assert_recorded("theme")


def test_a_client_for_a_test_reaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine says of tracking, the kit's owner has agreed; requests are lost."""
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    client = client_for(registry_with())
    assert client.record("theme", "dark").recorded
    assert client.flush().detail == "the collector gave no answer: TimeoutError"


def test_a_seed_repeats_every_report() -> None:
    """The same seed gives the same ids and payloads; another seed others."""

    def reports(seed: int) -> list[tuple[bytes, bytes]]:
        client = client_for(registry_with(), randomness=seeded(seed))
        for _ in range(5):
            client.record("theme", "dark")
        return [(item.report.id, item.report.payload) for item in client.waiting()]

    assert reports(1) == reports(1)
    assert reports(1) != reports(2)


def test_exchanges_are_kept_whatever_comes_of_them() -> None:
    """The transport hands on, and keeps request and response; None where there was none."""
    collector = FakeCollector([lost])
    transport = RecordingTransport(collector)
    client = client_for(registry_with(), transport=transport)
    client.record("theme", "dark")
    client.flush()
    client.flush()
    statuses = [response and response.status for _, response in transport.exchanges]
    assert statuses == [None, 200]
    assert transport.requests == collector.requests


def test_the_fake_collector_retracts_as_the_real_one_does() -> None:
    """Each verdict of a retraction is given, and a tombstone keeps a report out."""
    collector = FakeCollector()
    client = client_for(registry_with({"theme": KRR}), transport=collector, clock=FakeClock())
    client.record("theme", "dark")
    client.flush()
    (request,) = collector.requests
    batch = json.loads(request.body)
    (report,) = batch["reports"]
    other = {**report, "payload": "AA==" if report["payload"] != "AA==" else "AQ=="}
    unknown = {**report, "id": "A" * 22 + "=="}
    for asked, verdict in (
        (other, "mismatch"),
        (report, "retracted"),
        (report, "already"),
        (unknown, "not_counted_yet"),
    ):
        assert collector.take_back(asked, batch["day"])["verdict"] == verdict
    assert collector.judge(unknown, batch["day"])["verdict"] == "duplicate"
    assert collector.counted == {}
