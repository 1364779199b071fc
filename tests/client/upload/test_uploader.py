"""Uploading: the status table row by row, the same bytes on every retry, and no false receipt."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.devices import KRR, NOON, RAPPOR, device, registry_with

from rumor_client import Client, FlushResult, Report, Request, Response, UploadStatus
from rumor_client.testing import (
    Answer,
    FakeClock,
    FakeCollector,
    answer,
    contents,
    lost,
    page,
    refusal,
    times,
)
from rumor_client.upload.backoff import LONGEST
from rumor_shared.wire import JSON, pseudonym


def filled(collector: Answer, count: int = 10, **given: Any) -> Client:
    """Return a device with reports that wait."""
    client = device(transport=collector, **given)
    for _ in range(count):
        assert client.record("theme", "dark").recorded
    return client


def test_the_wire_has_exactly_the_agreed_fields() -> None:
    """Method, address, headers and every field of the body are those of design section 7."""
    collector = FakeCollector()
    client = filled(collector, 2, key="s3cret")
    with client.state.transaction() as transaction:
        identity = transaction.identity()
    assert identity is not None
    client.flush()
    (request,) = collector.requests
    assert (request.method, request.url) == ("POST", "http://collector.invalid/v1/reports")
    assert request.headers["Content-Type"] == JSON
    assert request.headers["Authorization"] == "Bearer s3cret"
    document = json.loads(request.body)
    assert list(document) == ["sdk", "day", "pseudonym", "reports"]
    assert document["sdk"].startswith("rumor-python/")
    assert document["day"] == "2026-11-30"
    expected = pseudonym(identity.secret, FakeClock()().date())
    assert base64.b64decode(document["pseudonym"], validate=True) == expected
    for report in document["reports"]:
        assert list(report) == ["id", "metric", "revision", "cohort", "payload"]
        assert len(base64.b64decode(report["id"], validate=True)) == 16
        assert (report["metric"], report["revision"], report["cohort"]) == ("theme", 1, 0)
        client.registry.metric("theme").mechanism.check_payload(base64.b64decode(report["payload"]))


def test_a_200_is_followed_report_by_report() -> None:
    """Accepted, duplicate and rejected leave the outbox by id; retry stays."""
    metrics = dict.fromkeys(("taken", "known", "refused", "later"), KRR)
    collector = FakeCollector(
        verdicts={"known": "duplicate", "refused": "rejected:too_late", "later": "retry:too_early"}
    )
    client = device(registry_with(metrics), transport=collector)
    for metric in metrics:
        client.record(metric, "dark")
    result = client.flush()
    assert (result.status, result.accepted, result.duplicate, result.rejected) == ("done", 1, 1, 1)
    assert [item.report.metric for item in client.waiting()] == ["later"]
    assert client.status().dropped == {"rejected:too_late": 1}
    assert {item.report.metric: item.verdict for item in client.sent()} == {
        "taken": "accepted",
        "known": "duplicate",
        "refused": "rejected",
    }


def test_a_permanently_refused_report_blocks_nothing() -> None:
    """The fourth of ten is refused for good; nine are delivered, one is counted (QU-03)."""
    collector = FakeCollector(verdicts={"gone": "rejected:unknown_metric"})
    client = device(registry_with({"theme": KRR, "gone": KRR}), transport=collector)
    for number in range(10):
        client.record("gone" if number == 3 else "theme", "dark")
    for _ in range(5):
        client.flush()
    assert len(collector.counted) == 9
    assert client.status().waiting == 0
    assert client.status().dropped == {"rejected:unknown_metric": 1}


def test_a_lost_answer_counts_once_with_the_same_bytes() -> None:
    """The collector commits and the connection drops, thrice: n rises once, spend once, and each
    retry carries the same bytes (QU-01).
    """
    collector = FakeCollector()
    collector.script = [
        collector.lose_answer,
        collector.fail_after_commit,
        collector.lose_answer,
    ]
    client = filled(collector)
    spent = client.status().spent_life
    for _ in range(4):
        client.flush()
    assert len({request.body for request in collector.requests}) == 1
    assert len(collector.requests) == 4
    assert len(collector.counted) == 10
    assert client.status().waiting == 0
    assert client.status().spent_life == spent


def test_one_batch_holds_one_day_under_that_days_name() -> None:
    """Reports of three days travel in three requests, each under a pseudonym of its own."""
    clock = FakeClock()
    collector = FakeCollector()
    client = filled(collector, 3, clock=clock)
    for _ in range(2):
        clock.move(days=1)
        client.record("theme", "dark")
    assert client.flush().accepted == 5
    days = [batch["day"] for batch in collector.batches]
    assert days == ["2026-11-30", "2026-12-01", "2026-12-02"]
    assert len({batch["pseudonym"] for batch in collector.batches}) == 3


def test_a_batch_has_at_most_500_reports() -> None:
    """1001 reports of a day travel as 500, 500 and 1."""
    collector = FakeCollector()
    client = filled(
        collector,
        1001,
        daily_cap=2000,
        registry=registry_with({"theme": {**KRR, "daily_epsilon": 2000}}),
    )
    assert client.flush().accepted == 1001
    assert [len(batch["reports"]) for batch in collector.batches] == [500, 500, 1]


def test_a_batch_has_at_most_a_mebibyte() -> None:
    """Reports of 64 KiB travel in as few bodies as keep below 1 MiB inflated."""
    wide = {**RAPPOR, "bits": 64 * 1024 * 8, "cohorts": 1, "hashes": 1}
    collector = FakeCollector()
    client = device(registry_with({"browser": wide}, daily_epsilon=1000), transport=collector)
    for _ in range(13):
        client.record("browser", "x")
    assert client.flush().accepted == 13
    sizes = [len(json.dumps(batch, separators=(",", ":"))) for batch in collector.batches]
    assert len(sizes) == 2
    assert max(sizes) <= 1 << 20


def test_order_says_nothing_of_when_a_report_was_made() -> None:
    """A batch is in the order of its random ids, whatever the order of recording."""
    collector = FakeCollector()
    metrics = {f"m{number}": KRR for number in range(20)}
    client = device(registry_with(metrics, daily_epsilon=1000), transport=collector)
    for metric in metrics:
        client.record(metric, "dark")
    client.flush()
    (batch,) = collector.batches
    ids = [base64.b64decode(report["id"]) for report in batch["reports"]]
    assert ids == sorted(ids)
    assert [report["metric"] for report in batch["reports"]] != list(metrics)


def test_large_bodies_are_compressed_and_small_ones_not() -> None:
    """gzip from a kibibyte on, and the same bytes each time."""
    collector = FakeCollector([lost])
    client = filled(collector, 100)
    client.flush()
    client.flush()
    assert collector.requests[0].headers["Content-Encoding"] == "gzip"
    assert collector.requests[0].body == collector.requests[1].body
    client.record("theme", "dark")
    client.flush()
    assert "Content-Encoding" not in collector.requests[-1].headers


@pytest.mark.parametrize(
    "not_ours",
    [
        page(200),
        lambda r: answer(200, {"ok": True}),
        lambda r: answer(200, []),
        lambda r: answer(200, {"results": [], "server_day": None}),
        lambda r: answer(200, {"results": {}, "server_day": "2026-11-30"}),
        lambda r: answer(200, {"results": [7], "server_day": "2026-11-30"}),
        lambda r: Response(200, {"content-type": JSON}, b"{"),
        lambda r: Response(200, {"content-type": JSON}, b"[" * 100_000),
        lambda r: Response(200, {"content-type": JSON}, b"\xff\xfe"),
        lambda r: Response(200, {}, b""),
        lambda r: Response(204, {}, b""),
        lambda r: Response(202, {"content-type": JSON}, b"{}"),
        lambda r: Response(302, {"location": "http://portal.invalid/"}, b""),
        lambda r: answer(
            200,
            {"results": [{"id": "AAAA", "verdict": "accepted"}], "server_day": "2026-11-30"},
        ),
    ],
)
def test_an_answer_that_is_not_the_collectors_acknowledges_nothing(not_ours: Answer) -> None:
    """A captive portal's page, a redirect or foreign JSON leaves everything waiting (QU-03)."""
    collector = FakeCollector([not_ours])
    client = filled(collector)
    result = client.flush()
    assert (result.status, result.waiting, result.delivered) == (UploadStatus.LATER, 10, 0)
    assert len(collector.requests) == 1
    assert client.flush().accepted == 10


def test_a_verdict_this_release_doesnt_know_keeps_the_report() -> None:
    """What has no verdict, or an unknown one, waits for the next time."""

    def half(request: Request) -> Response:
        reports = contents(request)["reports"]
        told = [
            {"id": reports[0]["id"], "verdict": "accepted", "reason": "a later one"},
            {"id": reports[1]["id"], "verdict": "postponed"},
        ]
        return answer(200, {"results": told, "server_day": "2026-11-30"})

    client = filled(FakeCollector([half]), 3)
    result = client.flush()
    assert (result.status, result.accepted, result.waiting) == (UploadStatus.DONE, 1, 2)


def test_400_isolates_the_poison_report() -> None:
    """A batch that is refused is halved until one report is alone, and that one is counted."""
    collector = FakeCollector()
    client = filled(collector, 37)
    poison = base64.b64encode(client.waiting()[20].report.id).decode()
    collector.poison = lambda report: report["id"] == poison
    result = client.flush()
    assert (result.status, result.accepted, result.dropped, result.waiting) == ("done", 36, 1, 0)
    assert client.status().dropped == {"refused": 1}
    assert poison not in collector.counted


@pytest.mark.parametrize("reports", [1, 6])
def test_what_is_refused_after_a_lost_answer_may_have_been_counted(reports: int) -> None:
    """It is dropped as unconfirmed, stays in the log, and `forget` takes it back; what was never
    under way but in refused batches is dropped for certain.
    """
    collector = FakeCollector()
    collector.script = [collector.lose_answer]
    client = filled(collector, reports)
    client.flush()
    assert len(collector.counted) == reports
    collector.poison = lambda report: True
    assert client.flush().dropped == reports
    assert client.status().dropped == {"unconfirmed:refused": reports}
    assert client.forget(timeout=5).taken_back == reports
    assert collector.counted == {}


def test_413_splits_and_drops_what_is_too_large_alone() -> None:
    """A batch that is too large is halved; a report too large alone is dropped and counted."""
    collector = FakeCollector()

    def limited(request: Request) -> Response:
        reports = contents(request)["reports"]
        large = any(report["metric"] == "browser" for report in reports)
        if len(reports) > 3 or large:
            collector.requests.append(request)
            return refusal(413)(request)
        return collector(request)

    metrics = {"theme": KRR, "browser": RAPPOR}
    client = device(registry_with(metrics, daily_epsilon=1000), transport=limited)
    client.record("browser", "x")
    for _ in range(10):
        client.record("theme", "dark")
    result = client.flush()
    assert (result.status, result.accepted, result.dropped) == (UploadStatus.DONE, 10, 1)
    assert client.status().dropped == {"too_large": 1}


def test_413_from_a_proxys_page_splits_too() -> None:
    """A proxy's own 413 comes as a page, and means the same."""
    client = filled(FakeCollector([page(413)]))
    assert client.flush().accepted == 10


def test_415_resends_uncompressed_once_then_stops() -> None:
    """Where gzip is not understood the same goes plain; where JSON is not, the upload stops."""
    collector = FakeCollector([refusal(415)])
    client = filled(collector, 100)
    assert client.flush().accepted == 100
    assert [r.headers.get("Content-Encoding") for r in collector.requests] == ["gzip", None]
    assert contents(collector.requests[0]) == contents(collector.requests[1])
    stubborn = FakeCollector(list(times(2, refusal(415))))
    client = filled(stubborn, 100)
    result = client.flush()
    assert (result.status, result.waiting, len(stubborn.requests)) == (UploadStatus.STOPPED, 100, 2)


@pytest.mark.parametrize("status", [401, 403, 404, 405, 409, 422])
def test_a_client_the_collector_refuses_stops_and_says_so(status: int) -> None:
    """The outbox stays, `status` says why, and a later success clears it."""
    client = filled(FakeCollector([refusal(status)]))
    result = client.flush()
    assert (result.status, result.waiting, result.retry_in) == (UploadStatus.STOPPED, 10, None)
    assert str(status) in (client.status().stopped or "")
    assert client.flush().accepted == 10
    assert client.status().stopped is None


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_a_fault_keeps_everything_and_backs_off(status: int) -> None:
    """Nothing is lost, the wait is at most the bound, and it doubles with each failure."""
    client = filled(FakeCollector(list(times(12, refusal(status)))), jitter=lambda: 1.0)
    waits = [client.flush().retry_in for _ in range(12)]
    assert waits == [2.0**n for n in range(1, 12)] + [LONGEST]
    assert client.status().waiting == 10


@pytest.mark.parametrize("status", [401, 403, 404, 400])
def test_a_portals_page_neither_stops_nor_drops(status: int) -> None:
    """An HTML page with an error status is someone else's: everything waits, and is tried later."""
    client = filled(FakeCollector([page(status)]))
    result = client.flush()
    assert (result.status, result.waiting) == (UploadStatus.LATER, 10)
    assert client.status().stopped is None
    assert client.status().dropped == {}


def test_no_answer_keeps_everything() -> None:
    """A lost request is tried again; so is one whose transport fails in a way of its own."""

    def broken(request: Request) -> Response:
        raise ZeroDivisionError

    client = filled(FakeCollector([lost, broken]))
    assert client.flush().status is UploadStatus.LATER
    result = client.flush()
    assert (result.status, result.detail) == (
        UploadStatus.LATER,
        "the transport failed: ZeroDivisionError",
    )
    assert client.flush().accepted == 10


@pytest.mark.parametrize(
    ("header", "wait"), [("0", 1), ("7", 7), ("86400", 3600), ("9" * 400, 3600)]
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_kept_and_clamped(status: int, header: str, wait: float) -> None:
    """`Retry-After` is clamped to a second and an hour, and even `flush` keeps to it."""
    collector = FakeCollector([refusal(status, **{"retry-after": header})])
    client = filled(collector)
    assert client.flush().retry_in == wait
    again = client.flush()
    assert (again.status, len(collector.requests)) == (UploadStatus.LATER, 1)
    assert again.retry_in is not None
    assert wait - 1 < again.retry_in <= wait


def test_a_retry_after_that_is_a_date_is_kept() -> None:
    """An HTTP date is read against the client's clock; nonsense means a back-off."""
    clock = FakeClock()
    date = (clock() + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    client = filled(FakeCollector([refusal(503, **{"retry-after": date})]), clock=clock)
    assert client.flush().retry_in == 90
    client = filled(FakeCollector([refusal(503, **{"retry-after": "soon"})]))
    assert (client.flush().retry_in or 99) <= 2


def test_507_waits_long() -> None:
    """A collector whose disk is almost full is left alone for half an hour at least."""
    client = filled(FakeCollector([refusal(507)]))
    assert (client.flush().retry_in or 0) >= 1800
    assert client.flush().status is UploadStatus.LATER


def test_flush_with_a_timeout_retries_until_it_works() -> None:
    """With time to spare, a failure is followed by another try within the same call."""
    client = filled(FakeCollector([lost, lost]), jitter=lambda: 0.01)
    result = client.flush(timeout=5)
    assert (result.status, result.accepted) == (UploadStatus.DONE, 10)


def test_flush_adds_up_what_its_tries_did() -> None:
    """What each try did is in the result."""
    clock = FakeClock()
    collector = FakeCollector()
    collector.script = [collector.take, lost]
    client = filled(collector, 3, clock=clock, jitter=lambda: 0.01)
    clock.move(days=1)
    client.record("theme", "dark")
    assert client.flush(timeout=5) == FlushResult(UploadStatus.DONE, accepted=4)


def test_flush_without_time_sends_nothing() -> None:
    """A deadline that has passed starts no request."""
    collector = FakeCollector()
    assert filled(collector).flush(timeout=0).status is UploadStatus.TIMEOUT
    assert collector.requests == []


def test_what_is_too_old_is_dropped_and_counted() -> None:
    """After max_age_days a report would be refused: it is dropped, and so is its log entry."""
    clock = FakeClock()
    collector = FakeCollector()
    client = filled(collector, 1, clock=clock)
    client.flush()
    client.record("theme", "dark")
    dropped = 0
    for _ in range(8):
        clock.move(days=1)
        collector.script = [lost]
        dropped += client.flush().dropped
    client.record("theme", "dark")
    collector.script = []
    result = client.flush()
    assert (result.accepted, dropped, result.waiting) == (1, 1, 0)
    assert client.status().dropped == {"unconfirmed:too_old": 1}
    assert {item.report.day for item in client.sent()} == {clock().date()}


def test_a_clock_that_jumped_for_one_start_drops_nothing() -> None:
    """Half a year ahead, or in 1970, and back: what waits stays, and goes out under its own day, as
    soon as the clock is right again; only one that goes on to the next day is believed (D-02).
    """
    for jump in (182, -20_000, 5_000):
        clock, collector = FakeClock(), FakeCollector()
        client = filled(collector, 3, clock=clock)
        collector.script = list(times(4, lost))
        assert client.flush().status is UploadStatus.LATER
        clock.move(days=jump)
        for _ in range(3):
            assert client.flush().dropped == 0
        clock.move(days=-jump)
        collector.script = []
        assert client.flush().accepted == 3
        assert client.status().dropped == {}
    clock = FakeClock()
    client = filled(FakeCollector(list(times(9, lost))), 3, clock=clock)
    client.flush()
    clock.move(days=182)
    assert client.flush().dropped == 0
    clock.move(days=1)
    assert client.flush().dropped == 3


def test_nothing_dated_after_today_leaves() -> None:
    """What was recorded under a clock in 2040 is sent on none of the next sixty days; it is dropped
    and counted once the clock has been seen twice. Two days ahead it waits for its day (D-02).
    """
    clock, collector = FakeClock(NOON.replace(year=2040)), FakeCollector()
    client = filled(collector, 2, clock=clock)
    clock.now = NOON
    client.record("theme", "dark")
    for _ in range(60):
        client.flush()
        clock.move(days=1)
    assert [batch["day"] for batch in collector.batches] == ["2026-11-30"]
    assert client.status().dropped == {"too_far_ahead": 2}
    clock.move(days=2)
    client.record("theme", "dark")
    ahead = clock().date().isoformat()
    clock.move(days=-2)
    for _ in range(4):
        client.flush()
        clock.move(days=1)
    assert [batch["day"] for batch in collector.batches] == ["2026-11-30", ahead]


def test_a_report_of_the_oldest_day_still_goes() -> None:
    """A report exactly max_age_days old is sent."""
    clock = FakeClock()
    client = filled(FakeCollector(), 1, clock=clock)
    clock.move(days=7)
    assert client.flush().accepted == 1


def test_a_device_without_an_endpoint_keeps_its_reports() -> None:
    """Without an endpoint `flush` says so and nothing is lost."""
    client = filled(FakeCollector(), endpoint=None)
    assert client.flush() == FlushResult(UploadStatus.OFF, detail="there is no endpoint")
    assert client.status().waiting == 10


STEPS: Mapping[str, Any] = {
    "lost": lost,
    "500": refusal(500),
    "413": refusal(413),
    "401": refusal(401),
    "page": page(200),
    "415": refusal(415),
}


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.just("record"),
            st.just("flush"),
            st.just("next day"),
            st.sampled_from([*STEPS, "lose answer", "fail after commit"]),
        ),
        max_size=40,
    )
)
def test_everything_recorded_is_counted_once_waits_or_is_a_counted_drop(steps: list[str]) -> None:
    """Whatever the collector does: counted + waiting + drops = recorded, and no id counts twice."""
    collector, clock = FakeCollector(), FakeClock()
    client = device(registry_with(max_age_days=90), transport=collector, clock=clock)
    recorded = 0
    for step in steps:
        if step == "record":
            recorded += client.record("theme", "dark").recorded
        elif step == "next day":
            clock.move(days=1)
        elif step == "flush":
            client.flush()
        elif step == "lose answer":
            collector.script.append(collector.lose_answer)
        elif step == "fail after commit":
            collector.script.append(collector.fail_after_commit)
        else:
            collector.script.append(STEPS[step])

    def text_of(reports: Iterable[Report]) -> set[str]:
        return {base64.b64encode(report.id).decode() for report in reports}

    drops = client.status().dropped
    dropped = sum(n for reason, n in drops.items() if not reason.startswith("unconfirmed"))
    # Refused alone after an answer was lost: it may have been counted, and can be taken back.
    unconfirmed = text_of(item.report for item in client.sent() if item.verdict is None)
    assert len(unconfirmed) == sum(drops.values()) - dropped
    waiting = text_of(item.report for item in client.waiting())
    assert len(waiting | unconfirmed | set(collector.counted)) + dropped == recorded
    collector.script.clear()
    client.flush()
    assert len(unconfirmed | set(collector.counted)) + dropped == recorded
    assert client.status().waiting == 0
