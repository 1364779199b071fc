"""Forgetting: uploads stop, what was sent is taken back, and only the ledger's totals stay."""

from __future__ import annotations

import base64
import json
import threading
import time
from pathlib import Path

import pytest
from tests.harness.devices import KRR, RAPPOR, device, registry_with

from rumor_client import Client, MemoryState, NoAnswer, RecordStatus, Request, Response
from rumor_client.testing import (
    Answer,
    FakeClock,
    FakeCollector,
    answer,
    contents,
    lost,
    page,
    refusal,
)
from rumor_shared.wire import pseudonym


def sent(collector: FakeCollector, reports: int = 5, **given: object) -> Client:
    """Return a device that has sent some reports; `forget` on it waits as short as it may."""
    # Leave out what is random of waits.
    given = {"jitter": lambda: 0.01} | given
    client = device(transport=collector, **given)  # type: ignore[arg-type]
    for _ in range(reports):
        assert client.record("theme", "dark").recorded
    assert client.flush().accepted == reports
    return client


def test_what_was_sent_is_taken_back_and_everything_goes() -> None:
    """Nothing counts any more, and of log, drops and secret nothing is left but the totals."""
    collector = FakeCollector()
    client = sent(collector)
    client.record("theme", "dark")
    spent = client.status().spent_life
    done = client.forget()
    assert (done.taken_back, done.unsent, done.kept, done.unanswered) == (5, 1, {}, 0)
    assert done.complete
    assert (len(collector.counted), len(collector.retracted)) == (0, 5)
    status = client.status()
    assert (status.spent_life, status.waiting, status.sent) == (spent, 0, 0)
    assert status.dropped == {}
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    with client.state.transaction() as transaction:
        assert transaction.identity() is None
    client.consent.grant()
    assert client.record("theme", "dark").recorded


def test_a_retraction_has_the_fields_of_the_report() -> None:
    """Same id, metric, revision, cohort and payload, under the same day and pseudonym."""
    clock, collector = FakeClock(), FakeCollector()
    client = sent(collector, 2, clock=clock)
    clock.move(days=1)
    client.record("theme", "dark")
    client.flush()
    with client.state.transaction() as transaction:
        identity = transaction.identity()
    assert identity is not None
    client.forget()
    reports, retractions = collector.batches[:2], collector.batches[2:]
    assert [request.url.rpartition("/")[2] for request in collector.requests[2:]] == [
        "retractions",
        "retractions",
    ]
    for report, retraction in zip(reports, retractions, strict=True):
        assert list(retraction) == ["sdk", "day", "pseudonym", "retractions"]
        assert retraction["retractions"] == report["reports"]
        assert (retraction["day"], retraction["sdk"]) == (report["day"], report["sdk"])
        name = pseudonym(identity.secret, clock().date().fromisoformat(report["day"]))
        assert base64.b64decode(retraction["pseudonym"]) == name
        assert retraction["pseudonym"] == report["pseudonym"]


def test_a_report_whose_answer_was_lost_is_taken_back_too() -> None:
    """A report on its way may have been counted: it is retracted, whether it arrived or not."""
    collector = FakeCollector()
    client = device(transport=collector)
    for step in (collector.lose_answer, lost):
        collector.script = [step]
        client.record("theme", "dark")
        client.flush()
        collector.script = []
    client.record("theme", "dark")
    done = client.forget()
    assert (done.taken_back, done.unsent) == (2, 1)
    assert (collector.counted, len(collector.retracted)) == ({}, 2)


def test_after_a_denial_forget_still_takes_back() -> None:
    """A denial keeps the log of what was sent, so that an explicit `forget` can retract it, under a
    name that is linked to nothing.
    """
    collector = FakeCollector()
    client = sent(collector)
    name = collector.batches[0]["pseudonym"]
    client.consent.deny()
    client.flush()
    assert len(collector.requests) == 1
    assert client.forget().taken_back == 5
    assert collector.batches[1]["pseudonym"] != name
    assert collector.counted == {}


def test_what_cant_be_taken_back_is_said_with_the_reason() -> None:
    """Verdicts that keep a report are counted by reason; so is what is too old to ask for."""
    clock, collector = FakeClock(), FakeCollector()
    client = sent(collector, 1, clock=clock)
    clock.move(days=8)
    client.flush()
    # A clock that jumped is believed once it has gone on.
    clock.move(days=1)
    for _ in range(5):
        client.record("theme", "dark")
        client.flush()
    verdicts = ["retracted", "already", "not_counted_yet", "mismatch", "too_late"]

    def told(request: Request) -> Response:
        results = [
            {"id": each["id"], "verdict": verdict, "detail": ""}
            for each, verdict in zip(contents(request)["retractions"], verdicts, strict=True)
        ]
        return answer(200, {"results": results, "server_day": "2026-12-09"})

    collector.script = [told]
    done = client.forget()
    assert (done.taken_back, done.complete) == (3, True)
    assert done.kept == {"mismatch": 1, "too_late": 1, "beyond_recall": 1}
    for words in ("something else", "closed their day", "older than"):
        assert words in str(done)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (lost, "no answer: TimeoutError"),
        (refusal(503, **{"retry-after": "3600"}), "503"),
        (refusal(401), "401"),
        (refusal(404), "404"),
        (page(200), "not the collector's"),
        (lambda r: answer(200, {"results": [], "server_day": "2026-11-30"}), "no verdict"),
    ],
)
def test_without_receipts_forget_can_be_said_again(step: Answer, why: str) -> None:
    """What has no receipt stays, and only that; uploads have stopped; the next call ends it."""
    collector = FakeCollector()
    client = sent(collector)
    client.record("theme", "dark")
    collector.script = [step] * 200
    done = client.forget(timeout=0.2)
    assert (done.unanswered, done.taken_back, done.complete) == (5, 0, False)
    assert why in (done.detail or "")
    assert "forget again" in str(done)
    assert client.record("theme", "dark").status is RecordStatus.NO_CONSENT
    asked = {request.url.rpartition("/")[2] for request in collector.requests[1:]}
    assert asked == {"retractions"}
    collector.script = []
    again = device(transport=collector, state=client.state, granted=False)
    assert again.forget().taken_back == 5
    assert collector.counted == {}


def test_whoever_gives_up_is_left_with_nothing() -> None:
    """With `give_up` what has no receipt is deleted too, and counted as kept."""
    collector = FakeCollector()
    client = sent(collector)
    collector.script = [lost] * 200
    done = client.forget(timeout=0.1, give_up=True)
    assert (done.kept, done.complete) == ({"unanswered": 5}, True)
    assert client.sent() == []


def test_a_lost_receipt_is_asked_for_again() -> None:
    """The collector takes back and the connection drops: the next try hears `already`."""
    collector = FakeCollector()
    client = sent(collector)
    collector.script = [collector.lose_answer]
    done = client.forget()
    assert (done.taken_back, done.complete, len(collector.requests)) == (5, True, 3)


@pytest.mark.parametrize(("status", "kept"), [(400, {"refused": 1}), (413, {"refused": 1})])
def test_a_retraction_that_cant_be_read_blocks_no_other(status: int, kept: dict[str, int]) -> None:
    """A batch that is refused is halved until the one that can't be taken back is alone."""
    collector = FakeCollector()
    client = sent(collector)
    poison = min(collector.counted)

    def picky(request: Request) -> Response:
        if any(each["id"] == poison for each in contents(request)["retractions"]):
            return refusal(status)(request)
        return collector.take(request)

    collector.script = [picky] * 20
    done = client.forget()
    assert (done.taken_back, done.kept, done.complete) == (4, kept, True)
    assert list(collector.counted) == [poison]


def test_a_rejected_report_needs_no_retraction() -> None:
    """What the collector never counted is not asked for."""
    collector = FakeCollector(verdicts={"theme": "rejected:too_late"})
    client = device(transport=collector)
    client.record("theme", "dark")
    client.flush()
    done = client.forget()
    assert (done.taken_back, done.kept, len(collector.requests)) == (0, {}, 1)
    assert client.sent() == []


def test_without_an_endpoint_what_was_sent_stays_to_be_taken_back() -> None:
    """A client that knows no collector says so, and stops the uploads all the same."""
    collector = FakeCollector()
    client = device(state=sent(collector).state, endpoint=None, granted=False)
    done = client.forget()
    assert (done.unanswered, done.detail) == (5, "there is no endpoint")
    nothing = device(endpoint=None).forget()
    assert nothing.complete


def test_forget_waits_for_the_request_under_way() -> None:
    """A report in flight is counted first and taken back then."""
    sending, go_on = threading.Event(), threading.Event()
    collector = FakeCollector()

    def slow(request: Request) -> Response:
        if request.url.endswith("reports"):
            sending.set()
            go_on.wait(10)
        return collector(request)

    client = device(transport=slow)
    client.record("theme", "dark")
    upload = threading.Thread(target=client.flush)
    upload.start()
    sending.wait(10)
    threading.Timer(0.2, go_on.set).start()
    done = client.forget()
    upload.join(10)
    assert (done.taken_back, collector.counted) == (1, {})
    assert [request.url.rpartition("/")[2] for request in collector.requests] == [
        "reports",
        "retractions",
    ]


def test_a_report_still_in_flight_is_taken_back_before_it_comes() -> None:
    """Where another process's request doesn't end, the retraction overtakes it, and the collector's
    tombstone keeps it from counting; its late verdict brings nothing back.
    """
    collector, state = FakeCollector(), MemoryState()
    owner = device(transport=collector, state=state)

    def overtaken(request: Request) -> Response:
        # The owner's own process, which can't have the turn while this one holds it.
        forgotten.append(owner.forget(timeout=0.1))
        return collector.take(request)

    forgotten: list[object] = []
    app = device(transport=overtaken, state=state)
    app.record("theme", "dark")
    app.flush()
    assert [done.taken_back for done in forgotten] == [1]  # type: ignore[attr-defined]
    assert (collector.counted, len(collector.retracted)) == ({}, 1)
    assert (app.sent(), app.status().dropped) == ([], {})


def test_days_are_retracted_with_a_pause_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two days' retractions have a random wait between them, within the time there is."""
    clock, collector = FakeClock(), FakeCollector()
    client = sent(collector, 1, clock=clock, jitter=lambda: 0.5)
    clock.move(days=1)
    client.record("theme", "dark")
    client.flush()
    started = time.monotonic()
    assert client.forget(timeout=2).taken_back == 2
    assert 0.2 < time.monotonic() - started < 2


def test_nothing_is_left_in_the_file(tmp_path: Path) -> None:
    """Ids and payloads of what was sent are gone from file, log and free pages."""
    path = tmp_path / "data" / "state"
    wide = registry_with({"theme": {**RAPPOR, "bits": 256}}, daily_epsilon=1000)
    client = sent(FakeCollector(), 20, registry=wide, state=path)
    traces = [trace for item in client.sent() for trace in (item.report.id, item.report.payload)]

    def found() -> int:
        held = b"".join(file.read_bytes() for file in path.parent.iterdir())
        return sum(trace in held for trace in traces)

    assert found() == len(traces)
    assert client.forget().complete
    assert found() == 0
    client.close()
    assert found() == 0


def test_a_forget_cut_short_goes_on(tmp_path: Path) -> None:
    """Killed between two days, the second call asks only for what has no receipt yet."""
    clock, collector = FakeClock(), FakeCollector()
    client = sent(collector, 2, clock=clock, state=tmp_path / "state")
    clock.move(days=1)
    client.record("theme", "dark")
    client.flush()

    class Killed(BaseException):
        pass

    def die(request: Request) -> Response:
        raise Killed

    collector.script = [collector.take, die]
    with pytest.raises(Killed):
        client.forget()
    client.close()
    again = device(transport=collector, clock=clock, state=tmp_path / "state", granted=False)
    assert again.record("theme", "dark").status is RecordStatus.NO_CONSENT
    done = again.forget()
    assert (done.taken_back, done.complete, collector.counted) == (1, True, {})
    again.close()


def test_a_request_that_fails_repeats_no_word_of_a_report() -> None:
    """What `forget` says of a fault has no id, payload or address in it."""
    collector = FakeCollector()
    client = sent(collector)

    def broken(request: Request) -> Response:
        raise NoAnswer(type(request).__name__)

    collector.script = [broken] * 99
    done = client.forget(timeout=0.1)
    assert "collector.invalid" not in str(done)
    assert json.dumps(sorted(collector.counted))[2:10] not in str(done)


def test_metrics_of_every_purpose_are_forgotten() -> None:
    """Reports of purposes that were granted one by one are all taken back."""
    metrics = {"theme": {**KRR, "purpose": "design"}, "crash": {**KRR, "purpose": "stability"}}
    collector = FakeCollector()
    client = device(registry_with(metrics, daily_epsilon=10), transport=collector)
    client.record("theme", "dark")
    client.record("crash", "dark")
    client.flush()
    assert client.forget().taken_back == 2
    assert all(not each.granted for each in client.status().consent.values())
