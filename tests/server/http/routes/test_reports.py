"""`POST /v1/reports` on a real database: a verdict for each report, and nothing counted twice."""

import gzip
import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.harness.collector import (
    JSON,
    TODAY,
    Collector,
    base64,
    batch,
    collector,
    compact,
    days_ago,
    report,
)

from rumor_server.ingestion.batch import decode_batch


def test_counts_each_report_once(running: Collector) -> None:
    """QU-01: a batch sent again, for whatever reason, is counted and charged once."""
    sent = batch(report(payload=b"\x00"), report(payload=b"\x02"), report(payload=b"\x02"))
    assert running.verdicts(sent) == ["accepted"] * 3
    assert running.verdicts(sent) == ["duplicate"] * 3
    assert running.tally() == ([3], [1, 0, 2])
    rest = batch(*[report() for _ in range(9)])
    assert (
        running.verdicts(rest | {"pseudonym": sent["pseudonym"]})
        == ["accepted"] * 7 + ["budget_exceeded"] * 2
    )


@pytest.mark.parametrize("changed", ["payload", "metric", "cohort", "day"])
def test_refuses_another_report_of_a_counted_id(running: Collector, changed: str) -> None:
    """QU-01: the same id with anything changed is refused, and the first report stays counted."""
    first = report("page", b"\x01\x00", revision=3, cohort=1)
    other = {
        "payload": report("page", b"\x02\x00", revision=3, cohort=1),
        "metric": report("theme"),
        "cohort": report("page", b"\x01\x00", revision=3, cohort=2),
        "day": first,
    }[changed]
    pseudonym = os.urandom(16)
    assert running.verdicts(batch(first, pseudonym=pseudonym)) == ["accepted"]
    day = days_ago(1) if changed == "day" else TODAY
    conflicting = batch(other | {"id": first["id"]}, day=day, pseudonym=pseudonym)
    for _ in range(2):
        assert running.verdicts(conflicting) == ["conflicting_duplicate"]
    assert running.tally("page")[0] == [0, 1, 0, 0]
    assert running.tally("theme")[0] == [0]


def test_says_of_each_report_what_became_of_it(running: Collector) -> None:
    """SV-06: one bad report spoils no other, and the answer says which was which."""
    twice = report()
    sent = batch(
        report(),
        report(payload=b"\x01\x00"),
        report("no_such_metric"),
        twice,
        twice,
        report(revision=2),
        report("old", b"\x00"),
        report(payload=b"\x03"),
        report(cohort=1),
    )
    expected = ["accepted", "malformed_payload", "unknown_metric", "accepted", "duplicate"]
    expected += ["revision_mismatch", "metric_expired", "malformed_payload", "malformed_payload"]
    assert running.verdicts(sent) == expected
    expected[0] = expected[3] = "duplicate"
    assert running.verdicts(sent) == expected
    assert running.tally() == ([2], [0, 2, 0])


def test_takes_an_expired_metric_for_days_before(running: Collector) -> None:
    """Expiry is the last valid day, inclusive: reports of that day are still taken."""
    old = report("old", b"\x01")
    assert running.verdicts(batch(old, day=days_ago(1))) == ["metric_expired"]
    assert running.verdicts(batch(old, day=days_ago(2))) == ["accepted"]


@pytest.mark.parametrize("length", [0, 1, 3])
def test_names_both_widths_of_a_wrong_payload(running: Collector, length: int) -> None:
    """EN-02: 16 bits are two bytes, no other number; the detail names what came and what must."""
    (result,) = running.send(batch(report("page", bytes(length), revision=3)))
    assert result["reason"] == "malformed_payload"
    assert f"has {length} bytes" in result["detail"]
    assert "exactly 2" in result["detail"]
    assert running.tally("page")[0] == [0] * 4


def test_keeps_the_day_window(running: Collector) -> None:
    """Days up to max_age_days ago are taken; tomorrow must wait and what is older is too late."""
    assert running.verdicts(batch(report(), day=days_ago(-1))) == ["too_early"]
    assert running.verdicts(batch(report(), day=days_ago(7))) == ["accepted"]
    assert running.verdicts(batch(report(), day=days_ago(8))) == ["too_late"]
    (early,) = running.send(batch(report(), day=days_ago(-1)))
    assert early["verdict"] == "retry"


def test_hears_duplicate_before_anything_else(running: Collector) -> None:
    """A retry of what was counted hears `duplicate`, though budget and day are over."""
    sent = batch(*[report() for _ in range(10)], day=days_ago(7))
    assert running.verdicts(sent) == ["accepted"] * 10
    spent = batch(report(), day=days_ago(7)) | {"pseudonym": sent["pseudonym"]}
    assert running.verdicts(spent) == ["budget_exceeded"]
    running.today = TODAY + timedelta(days=1)
    assert running.verdicts(sent) == ["duplicate"] * 10
    assert running.verdicts(spent) == ["too_late"]


def test_says_what_was_asked_and_what_is_left(running: Collector) -> None:
    """A refused budget names the account, the cost and the rest, in epsilon."""
    pseudonym = os.urandom(16)
    running.send(batch(*[report() for _ in range(10)], pseudonym=pseudonym))
    (result,) = running.send(batch(report(), pseudonym=pseudonym))
    assert result["detail"] == "asked 1, left 0 of today's epsilon for family theme"


def test_charges_a_metric_and_the_total(running: Collector) -> None:
    """A metric with room left is refused where all metrics together have none."""
    pseudonym = os.urandom(16)
    page = [report("page", bytes(2), revision=3) for _ in range(20)]
    verdicts = running.verdicts(batch(*page, pseudonym=pseudonym))
    taken = verdicts.count("accepted")
    cost = running.store.revisions("page")[-1].mechanism.epsilon_report
    assert taken == 20_000_000 // cost
    assert verdicts == ["accepted"] * taken + ["budget_exceeded"] * (20 - taken)
    left = 20_000_000 - taken * cost
    theme = running.verdicts(batch(*[report() for _ in range(3)], pseudonym=pseudonym))
    assert theme.count("accepted") == left // 1_000_000


def test_gives_each_day_and_device_its_own_budget(running: Collector) -> None:
    """The budget is one pseudonym's and one day's."""
    full = [report() for _ in range(10)]
    pseudonym = os.urandom(16)
    for day in (TODAY, days_ago(1)):
        fresh = [one | {"id": base64(os.urandom(16))} for one in full]
        assert running.verdicts(batch(*fresh, day=day, pseudonym=pseudonym)) == ["accepted"] * 10
    assert running.verdicts(batch(report())) == ["accepted"]


@pytest.mark.parametrize(
    ("epsilon", "daily", "taken"),
    [("0.1", "0.3", 3), ("0.2", "0.6", 3), ("0.1", "0.299999", 2), ("0.1", "0.300001", 3)],
)
def test_spends_a_budget_exactly(tmp_path: Path, epsilon: str, daily: str, taken: int) -> None:
    """TI-02: three reports of .1 fit into .3 and no fourth, and a millionth less holds two."""
    text = f"""
    [metrics.flag]
    revision = 1
    mechanism = "binary"
    epsilon = {epsilon}
    daily_epsilon = {daily}
    owner = "test@example.org"
    purpose = "to test"
    expires = 2026-12-31
    """
    with collector(tmp_path / "rumor.sqlite3", text) as running:
        sent = batch(*[report("flag") for _ in range(4)])
        verdicts = ["accepted"] * taken + ["budget_exceeded"] * (4 - taken)
        assert running.verdicts(sent) == verdicts


CORRELATED = """
[metrics.{name}]
revision = 1
mechanism = "binary"
epsilon = 1.0
daily_epsilon = {daily}
family = "screen"
owner = "test@example.org"
purpose = "to test"
expires = 2026-12-31
"""


def test_charges_a_family_as_one(tmp_path: Path) -> None:
    """Correlated metrics share the largest allowance among them, each within its own."""
    text = "[registry]\ndaily_epsilon = 20.0\n"
    text += CORRELATED.format(name="width", daily=2.0) + CORRELATED.format(name="height", daily=3.0)
    with collector(tmp_path / "rumor.sqlite3", text) as running:
        sent = batch(*[report(name) for name in ["width"] * 3 + ["height"] * 3])
        expected = ["accepted"] * 2 + ["budget_exceeded", "accepted"] + ["budget_exceeded"] * 2
        results = running.send(sent)
        assert [one["reason"] or one["verdict"] for one in results] == expected
        assert results[2]["detail"].endswith("for metric width")
        assert results[4]["detail"].endswith("for family screen")


def test_gives_parallel_requests_exactly_the_cap(running: Collector) -> None:
    """CO-01: 25 parallel requests against a cap of 10, 20 times over: always exactly 10."""
    with ThreadPoolExecutor(25) as threads:
        for _ in range(20):
            pseudonym = os.urandom(16)
            sent = [batch(report(), pseudonym=pseudonym) for _ in range(25)]
            verdicts = [verdict for (verdict,) in threads.map(running.verdicts, sent)]
            assert sorted(verdicts) == ["accepted"] * 10 + ["budget_exceeded"] * 15
    assert running.tally() == ([200], [0, 200, 0])


def test_counts_parallel_copies_once(running: Collector) -> None:
    """SV-06: 20 copies of one report at once give one count, and 19 hear `duplicate`."""
    sent = batch(report())
    with ThreadPoolExecutor(20) as threads:
        verdicts = [verdict for (verdict,) in threads.map(running.verdicts, [sent] * 20)]
    assert sorted(verdicts) == ["accepted"] + ["duplicate"] * 19
    assert running.tally() == ([1], [0, 1, 0])


def test_keeps_budgets_and_ids_over_a_restart(tmp_path: Path) -> None:
    """CO-02: what was counted and spent before a restart is counted and spent after it."""
    database = tmp_path / "rumor.sqlite3"
    sent = batch(*[report() for _ in range(10)])
    with collector(database) as running:
        assert running.verdicts(sent) == ["accepted"] * 10
    with collector(database) as running:
        assert running.verdicts(sent) == ["duplicate"] * 10
        more = batch(report()) | {"pseudonym": sent["pseudonym"]}
        assert running.verdicts(more) == ["budget_exceeded"]
        assert running.tally() == ([10], [0, 10, 0])


def test_takes_gzip_and_messagepack(running: Collector) -> None:
    """Both encodings of both structures are counted alike."""
    sent = compact(batch(report()))
    packed = msgspec.msgpack.encode(decode_batch(sent, "application/json"))
    for body, kind in ((sent, "application/json"), (packed, "application/vnd.msgpack")):
        headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
        answer = running.client.post("/v1/reports", content=gzip.compress(body), headers=headers)
        assert answer.status_code == 200, answer.text
    assert running.tally()[0] == [1]


def test_answers_an_empty_batch(running: Collector) -> None:
    """No reports have no verdicts."""
    assert running.send(batch()) == []


def test_stores_nothing_of_what_it_refuses(running: Collector, tmp_path: Path) -> None:
    """SV-06: unknown metrics and days leave no row anywhere, and bad bodies none either."""

    def rows() -> list[int]:
        names = ["day_keys", "ids", "spend", "tallies", "series"]
        with sqlite3.connect(tmp_path / "rumor.sqlite3") as connection:
            found = [
                connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
                for name in names
            ]
        connection.close()
        return found

    before = rows()
    running.send(batch(report("planted"), report(revision=9), report(payload=b"")))
    running.send(batch(report(), day="9999-12-31"))
    running.send(batch(report(), day="0001-01-01"))
    running.client.post("/v1/reports", content=b'{"reports":[NaN]}', headers=JSON)
    assert rows() == before


def test_keeps_no_id_pseudonym_or_payload(running: Collector, tmp_path: Path) -> None:
    """What a device sent is in no file of the database: only keyed hashes and sums are."""
    planted = [b"\xa5planted-id-0001", b"\xa5planted-pseudo-"]
    page = report("page", b"\xf7\x7f", revision=3, cohort=2, id_=planted[0].ljust(16, b"!"))
    assert running.verdicts(batch(page, pseudonym=planted[1].ljust(16, b"!"))) == ["accepted"]
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert len(written) > 4096
    for secret in planted:
        assert secret not in written


def test_repeats_nothing_and_logs_nothing(
    running: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    """SV-02: a planted sentinel appears in no answer and in no log record, even at debug."""
    caplog.set_level("DEBUG")
    sentinel = "SECRET123"
    good = batch(report())
    bad = [
        good | {"true_value": sentinel},
        good | {"day": sentinel},
        good | {"sdk": [sentinel]},
        good | {"reports": [report() | {sentinel: 1}]},
        batch(report(metric=sentinel)),
        batch(report(payload=sentinel.encode())),
    ]
    for document in bad:
        answer = running.client.post("/v1/reports", content=compact(document), headers=JSON)
        assert sentinel not in answer.text
        assert base64(sentinel.encode()) not in answer.text
        assert json.loads(answer.text)
    ours = [record for record in caplog.records if not record.name.startswith("httpx")]
    assert sentinel not in "".join(record.getMessage() for record in ours)
