"""`POST /v1/retractions`: a report is taken back once, by who knows all of it."""

import os
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.harness.collector import (
    JSON,
    REGISTRY,
    TODAY,
    Collector,
    base64,
    batch,
    collector,
    compact,
    days_ago,
    report,
)

from rumor_server.storage.receipts import KEEP_DAYS, Receipts


def retractions(document: dict[str, Any]) -> dict[str, Any]:
    """The retraction of a whole batch."""
    taken = {name: value for name, value in document.items() if name != "reports"}
    return taken | {"retractions": document["reports"]}


def retract(running: Collector, document: dict[str, Any]) -> list[str]:
    """Retract a batch, which must be answered with 200; return the verdicts."""
    sent = retractions(document)
    answer = running.client.post("/v1/retractions", content=compact(sent), headers=JSON)
    assert answer.status_code == 200, answer.text
    assert answer.json()["server_day"] == str(running.today)
    results = answer.json()["results"]
    assert [result["id"] for result in results] == [one["id"] for one in document["reports"]]
    assert all(sorted(result) == ["detail", "id", "verdict"] for result in results)
    return [result["verdict"] for result in results]


def test_takes_a_report_back_once(running: Collector) -> None:
    """The tally loses the report, once however often it is asked, and the report may not return."""
    sent = batch(report(payload=b"\x00"), report(payload=b"\x02"))
    assert running.verdicts(sent) == ["accepted"] * 2
    one = sent | {"reports": sent["reports"][:1]}
    assert [retract(running, one) for _ in range(3)] == [["retracted"], ["already"], ["already"]]
    assert running.tally() == ([1], [0, 0, 1])
    assert running.verdicts(sent) == ["duplicate"] * 2
    assert retract(running, sent) == ["already", "retracted"]
    assert running.tally() == ([0], [0, 0, 0])
    assert running.client.get("/v1/metrics").json()["metrics"][0]["first_day"] is None


def test_asks_for_the_report_and_not_for_the_pseudonym(running: Collector) -> None:
    """A device that has another secret by now takes back what it sent under the old one, before and
    after it came; its id alone, with another field changed, does not.
    """
    first, second = batch(report(payload=b"\x00")), batch(report(payload=b"\x02"))
    assert running.verdicts(first) == ["accepted"]
    other = {"pseudonym": base64(os.urandom(16))}
    wrong = [{**first["reports"][0], "payload": base64(b"\x01")}]
    assert retract(running, first | other | {"reports": wrong}) == ["mismatch"]
    assert running.tally()[0] == [1]
    assert retract(running, first | other) == ["retracted"]
    assert retract(running, second | other) == ["not_counted_yet"]
    assert running.verdicts(second) == ["duplicate"]
    assert running.tally()[0] == [0]


def test_hears_one_report_twice_in_a_batch(running: Collector) -> None:
    """Two retractions of one report within a batch subtract it once."""
    sent = batch(report())
    running.send(sent)
    assert retract(running, sent | {"reports": sent["reports"] * 2}) == ["retracted", "already"]
    assert running.tally() == ([0], [0, 0, 0])


def test_gives_no_budget_back(running: Collector) -> None:
    """What was sent was seen: after a retraction the day's allowance is still spent."""
    sent = batch(*[report() for _ in range(10)])
    assert running.verdicts(sent) == ["accepted"] * 10
    assert retract(running, sent) == ["retracted"] * 10
    assert running.verdicts(sent | {"reports": [report()]}) == ["budget_exceeded"]


def test_sets_a_tombstone_for_what_has_not_come(running: Collector) -> None:
    """A retraction that overtakes its report keeps it from ever being counted."""
    sent = batch(report())
    assert [retract(running, sent) for _ in range(2)] == [["not_counted_yet"]] * 2
    assert running.verdicts(sent) == ["duplicate"]
    changed = sent | {"reports": [sent["reports"][0] | {"payload": base64(b"\x00")}]}
    assert running.verdicts(changed) == ["conflicting_duplicate"]
    assert retract(running, sent) == ["not_counted_yet"]
    assert running.tally() == ([0], [0, 0, 0])


@pytest.mark.parametrize("changed", ["payload", "metric", "revision", "cohort", "day"])
def test_needs_every_field_as_it_was(running: Collector, changed: str) -> None:
    """Whoever knows the id alone takes nothing back: any other field differing is a mismatch."""
    one = report("page", b"\x01\x00", revision=3, cohort=1)
    sent = batch(one)
    assert running.verdicts(sent) == ["accepted"]
    others: dict[str, dict[str, Any]] = {
        "payload": {"payload": base64(b"\x02\x00")},
        "metric": {"metric": "theme"},
        "revision": {"revision": 2},
        "cohort": {"cohort": 2},
        "day": {},
    }
    day = str(days_ago(1) if changed == "day" else TODAY)
    running.send(batch(report(), day=day))
    assert retract(running, sent | {"reports": [one | others[changed]], "day": day}) == ["mismatch"]
    assert running.tally("page")[0] == [0, 1, 0, 0]


def test_takes_back_only_what_it_remembers(running: Collector) -> None:
    """Once the day is closed nothing can be taken back, and no id is remembered for it."""
    sent = batch(report(), day=days_ago(7))
    unsent = batch(report(), day=days_ago(8))
    running.send(sent)
    assert retract(running, unsent) == ["too_late"]
    running.today = TODAY + timedelta(days=1)
    assert retract(running, batch(report(), day=days_ago(7))) == ["too_late"]
    assert retract(running, sent) == ["retracted"]
    running.store.close_days(days_ago(7))
    assert retract(running, sent) == ["too_late"]


def test_sets_no_tombstone_that_would_last(running: Collector) -> None:
    """Tomorrow is taken, for devices whose clock is ahead; a later day is refused."""
    for days, verdict in ((1, "not_counted_yet"), (2, "mismatch"), (300_000, "mismatch")):
        day = TODAY + timedelta(days=days)
        assert retract(running, batch(report(), day=day)) == [verdict]


def test_takes_back_a_report_of_an_older_revision(tmp_path: Path) -> None:
    """The registry may have moved on: the report is subtracted from the revision it counted in."""
    sent = batch(report(payload=b"\x02"))
    with collector(tmp_path / "rumor.sqlite3") as running:
        assert running.verdicts(sent) == ["accepted"]
        theme = running.store.revisions("theme")[0]
    text = REGISTRY.replace('["light", "dark", "system"]', '["light", "dark"]', 1)
    text = text.replace("revision = 1\nmechanism", "revision = 2\nmechanism", 1)
    with collector(tmp_path / "rumor.sqlite3", text) as running:
        assert retract(running, sent) == ["retracted"]
        assert running.store.tally(theme, TODAY, TODAY).n == 0


def test_reads_message_pack_and_refuses_what_is_not_the_schema(running: Collector) -> None:
    """The body is read as strictly as a batch of reports, in both formats."""
    sent = retractions(batch(report()))
    for word in ("id", "payload"):
        sent["retractions"][0][word] = os.urandom(16)
    packed = msgspec.msgpack.encode(sent | {"pseudonym": bytes(16)})
    kind = {"Content-Type": "application/vnd.msgpack"}
    answer = running.client.post("/v1/retractions", content=packed, headers=kind)
    assert answer.json()["results"][0]["verdict"] == "not_counted_yet"
    for wrong in (
        compact(batch(report())),
        compact(retractions(batch(report())) | {"more": 1}),
        compact(retractions(batch(report()))).replace(b'"cohort":0', b'"cohort":0,"cohort":0'),
    ):
        answer = running.client.post("/v1/retractions", content=wrong, headers=JSON)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
    many = retractions(batch(*[report() for _ in range(501)]))
    answer = running.client.post("/v1/retractions", content=compact(many), headers=JSON)
    assert answer.status_code == 413
    assert running.client.get("/v1/retractions").status_code == 405


def test_writes_a_receipt_outside_the_database(running: Collector, tmp_path: Path) -> None:
    """Each retraction that holds leaves one receipt, for the owner alone, without pseudonym."""
    sent = batch(report(), report(), day=days_ago(1))
    running.send(sent | {"reports": sent["reports"][:1]})
    for _ in range(2):
        retract(running, sent)
    folder = tmp_path / "rumor.receipts"
    (file,) = folder.iterdir()
    assert file.name == f"{days_ago(1)}.jsonl"
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    (first,) = Receipts(folder).read()
    assert first.counted is not None
    assert (first.counted.metric, first.counted.payload) == ("theme", b"\x01")
    for secret in (sent["pseudonym"], sent["reports"][0]["id"], str(TODAY)):
        assert secret not in file.read_text()


def test_forgets_receipts_that_no_backup_needs(running: Collector, tmp_path: Path) -> None:
    """A closed day's receipts outlive it by as long as a backup may be restored, no longer."""
    running.send(sent := batch(report()))
    retract(running, sent)
    receipts = Receipts(tmp_path / "rumor.receipts")
    receipts.forget(TODAY + timedelta(days=KEEP_DAYS - 1))
    assert len(list(receipts.read())) == 1
    receipts.forget(TODAY + timedelta(days=KEEP_DAYS))
    assert not list(receipts.read())


def test_answers_503_where_a_receipt_cannot_be_written(running: Collector, tmp_path: Path) -> None:
    """Without its receipt a retraction is not acknowledged; sent again, it is, and has one."""
    sent = batch(report())
    running.send(sent)
    folder = tmp_path / "rumor.receipts"
    folder.write_text("in the way")
    body = compact(retractions(sent))
    answer = running.client.post("/v1/retractions", content=body, headers=JSON)
    assert answer.status_code == 503
    folder.unlink()
    assert retract(running, sent) == ["already"]
    assert len(list(Receipts(folder).read())) == 1


def test_reads_past_a_torn_line(running: Collector, tmp_path: Path) -> None:
    """A crash may leave a part of a line: it was not answered for, and the next append ends it."""
    running.send(sent := batch(report(), report()))
    retract(running, sent | {"reports": sent["reports"][:1]})
    folder = tmp_path / "rumor.receipts"
    file = folder / f"{TODAY}.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:20])
    assert len(list(Receipts(folder).read())) == 1
    retract(running, sent)
    assert len(list(Receipts(folder).read())) == 2


def test_leaves_what_is_no_receipt_alone(tmp_path: Path) -> None:
    """A stranger's file in the folder of receipts is neither read nor deleted."""
    notes = tmp_path / "notes.jsonl"
    notes.write_text("remember the milk")
    receipts = Receipts(tmp_path)
    assert list(receipts.read()) == []
    receipts.forget(date(2999, 1, 1))
    assert notes.exists()
