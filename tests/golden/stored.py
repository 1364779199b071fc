"""Make what a version leaves on disks, for the tests of later versions' upgrades.

A collector's SQLite file and its PostgreSQL dump, each with open days, a closed one, two revisions,
retractions, keys and spent limits; a device's state; and what all of them answer.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
from tests.golden import plain, wire
from tests.golden.opening import Opened, opened, rumor
from tests.golden.world import FIRST, NEWEST, OLD, PAGES, TODAY, ago, batches

from benchmarks.postgres_server import binaries, serving
from rumor_client import Client
from rumor_client.testing import FakeClock, FakeCollector, seeded

# Two days after the golden one `ago(6)` is closed, and `ago(2)` is open.
DAY = TODAY + timedelta(days=2)
_DAYS = {str(ago(6)), str(ago(2))}
_CLOSED = {"ingest_access": "key", "read_access": "open", "metrics_access": "open"}
_ASKED = ("theme", "page", "quiet", "rare")


def write(folder: Path) -> None:
    """Write the files of this version, all of them."""
    OLD.mkdir(parents=True, exist_ok=True)
    (OLD / "metrics.toml").write_text(NEWEST, "utf-8")
    (folder / "wire").mkdir()
    wire.WIRE.write_text(plain.compact(wire.record(folder / "wire")), "utf-8")
    sqlite = folder / "sqlite"
    sqlite.mkdir()
    expected = {"day": str(DAY), "sqlite": _collected(sqlite, {}, "rumor.sqlite3")}
    with serving() as server:
        postgres = folder / "postgres"
        postgres.mkdir()
        url = server.make()
        expected["postgres"] = _collected(postgres, {"database_url": url}, url)
    expected["device"] = _device(folder)
    (OLD / "expected.json").write_text(plain.compact(expected), "utf-8")


def _collected(folder: Path, settings: dict[str, Any], where: str) -> dict[str, Any]:
    """Fill a database, keep its file if it is one, and return what it answers afterwards."""
    if settings:
        assert rumor("db", "upgrade", "--database", where, folder=folder).code == 0
    limits = ("--day-reports", "5000", "--expires", "2999-12-31")
    made = rumor(
        "keys", "create", "phones", "--scope", "ingest", *limits, "--database", where, folder=folder
    )
    assert made.code == 0, made.err
    key = made.out.strip()
    database = folder / "rumor.sqlite3"
    for registry in (FIRST, NEWEST):
        with opened(database, registry, TODAY, **_CLOSED, **settings) as running:
            for batch in batches(registry):
                if batch["day"] in _DAYS:
                    _send(running, key, json.dumps(batch, separators=(",", ":")))
    with opened(database, NEWEST, DAY, **_CLOSED, **settings) as running:
        upload = "texts=" + "%0A".join(PAGES)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert running.ask("/metric/page/candidates", "POST", upload.encode(), form).status == 303
        for one in _before():
            _send(running, key, one["body"], one["path"])
    if settings:
        (OLD / "postgres.sql").write_text(_dump(where), "utf-8")
    else:
        # Closed cleanly, all of it is in the one file.
        shutil.copy(database, OLD / "rumor.sqlite3")
        for name in ("rumor.receipts", "rumor.candidates"):
            shutil.rmtree(OLD / name, ignore_errors=True)
            shutil.copytree(folder / name, OLD / name)
    with opened(database, NEWEST, DAY, **_CLOSED, **settings) as running:
        return {
            "key": key,
            "estimates": estimates(running),
            "exchanges": after(running, key, _after()),
        }


def estimates(running: Opened) -> dict[str, Any]:
    """Return what a collector says of the metrics that were filled."""
    return {
        name: plain.answer(running.ask(f"/v1/metrics/{name}/estimates"))["body"] for name in _ASKED
    }


def after(running: Opened, key: str, exchanges: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Send a filled collector what shows that it knows ids, budgets and retractions still."""
    return [{**one, "answer": wire.send(running, _keyed(one, key))} for one in exchanges]


@contextmanager
def reopened(folder: Path, **settings: Any) -> Iterator[Opened]:
    """Upgrade a copy of the stored SQLite file, or what `database_url` names, and serve it."""
    database = folder / "rumor.sqlite3"
    for name in ("rumor.receipts", "rumor.candidates"):
        shutil.copytree(OLD / name, folder / name)
    if not settings:
        shutil.copy(OLD / "rumor.sqlite3", database)
    where = settings.get("database_url", str(database))
    upgraded = rumor("db", "upgrade", "--database", where, folder=folder)
    assert upgraded.code == 0, upgraded.err
    with opened(database, NEWEST, DAY, **_CLOSED, **settings) as running:
        yield running


@contextmanager
def loaded_dump() -> Iterator[str]:
    """Load the stored dump into a server to throw away; yield the database's address."""
    with serving() as server:
        url = server.make()
        with psycopg.connect(url) as connection:
            connection.execute((OLD / "postgres.sql").read_bytes())
        yield url


def _keyed(exchange: dict[str, Any], key: str) -> dict[str, Any]:
    return {**exchange, "headers": {**exchange["headers"], "Authorization": f"Bearer {key}"}}


def _send(running: Opened, key: str, body: str, path: str = "/v1/reports") -> None:
    got = wire.send(running, _keyed(wire.raw("", body, path=path), key))
    assert got["status"] == 200, got


_SPENT = wire.report("spent", "quiet", b"\1")
_TAKEN = wire.report("taken", "theme", b"\1", 2)
_AWAITED = wire.report("awaited", "theme", b"\2", 2)


def _before() -> list[dict[str, Any]]:
    """Half of a budget is spent, a report taken back, and a tombstone set."""
    return [
        wire.exchange("spends one of two", _SPENT, device="spender", day=DAY),
        wire.exchange("is counted", _TAKEN, day=DAY),
        wire.exchange("is taken back", _TAKEN, day=DAY, retracts=True),
        wire.exchange("is barred", _AWAITED, day=DAY, retracts=True),
    ]


def _after() -> list[dict[str, Any]]:
    more = [wire.report(f"more {i}", "quiet", b"\1") for i in range(2)]
    open_day = next(one for one in batches(NEWEST) if one["day"] == str(ago(2)))
    closed = next(one for one in batches(FIRST) if one["day"] == str(ago(6)))
    shown = [
        {**batch, "reports": batch["reports"][:3], "pseudonym": "A" * 22 + "=="}
        for batch in (open_day, closed)
    ]
    again, late = (json.dumps(batch, separators=(",", ":")) for batch in shown)
    back = again.replace('"reports"', '"retractions"')
    return [
        wire.exchange("a duplicate", _SPENT, device="spender", day=DAY),
        wire.exchange("one more fits, and the next does not", *more, device="spender", day=DAY),
        wire.exchange("what was taken back is no news", _TAKEN, day=DAY),
        wire.exchange("what was barred stays so", _AWAITED, day=DAY),
        wire.exchange("was taken back already", _TAKEN, day=DAY, retracts=True),
        wire.raw("duplicates of an open day", again),
        wire.raw("of a closed day", late),
        wire.raw("is taken back later", back, path="/v1/retractions"),
        wire.raw("and is then a duplicate", again),
    ]


def _dump(url: str) -> str:
    found = binaries()
    assert found is not None
    words = ["--schema=rumor", "--no-owner", "--no-privileges", "--inserts", url]
    dumped = subprocess.run(
        [found / "pg_dump", *words], check=True, capture_output=True, text=True
    ).stdout
    # psql's own words, and a setting that older servers don't know.
    lines = [
        line
        for line in dumped.splitlines()
        if line and not line.startswith(("\\", "--", "SET transaction_timeout"))
    ]
    return "\n".join(lines) + "\n"


def _device(folder: Path) -> dict[str, Any]:
    """Write a device's state: consent, spent budget, permanent answers, what waits and was sent."""
    state, clock, collector = folder / "state", FakeClock(), FakeCollector()
    collector.verdicts["switch"] = "rejected:unknown_metric"
    with open_device(state, clock, collector) as client:
        client.consent.grant("to test")
        client.consent.deny("another purpose")
        for metric, value in (
            ("theme", "dark"),
            ("page", PAGES[1]),
            ("habit", "a"),
            ("switch", True),
        ):
            assert client.record(metric, value).recorded
        client.flush()
        clock.move(days=1)
        for metric, value in (("theme", "light"), ("page", PAGES[1]), ("habit", "a")):
            assert client.record(metric, value).recorded
    shutil.copy(state, OLD / "state.sqlite3")
    with open_device(state, clock, collector) as client:
        return told_by_device(client)


@contextmanager
def stored_device(state: Path) -> Iterator[Client]:
    """Open a copy of the stored state at `state`, a day after it was begun."""
    shutil.copy(OLD / "state.sqlite3", state)
    clock = FakeClock()
    clock.move(days=1)
    with open_device(state, clock, FakeCollector()) as client:
        yield client


def open_device(state: Path, clock: FakeClock, collector: FakeCollector) -> Client:
    """A client of the stored state, which nothing of this machine decides."""
    return Client(
        NEWEST.encode(), "http://collector.invalid", state=state, background=False, clock=clock,
        transport=collector, randomness=seeded(1), environ={}, policy="",
    )  # fmt: skip


def told_by_device(client: Client) -> dict[str, Any]:
    """Return what a client knows of its state."""
    status = client.status()
    waiting = [one.report for one in client.waiting()]
    sent = [(one.report, str(one.verdict or ""), one.reason or "") for one in client.sent()]

    def shown(report: Any) -> list[Any]:
        fields = (report.metric, report.revision, str(report.day), report.cohort)
        return [report.id.hex(), *fields, report.payload.hex(), report.purpose]

    return {
        "consent": {name: str(found) for name, found in status.consent.items()},
        "spent_today": status.spent_today,
        "spent_life": status.spent_life,
        "dropped": dict(status.dropped),
        "waiting": [shown(report) for report in waiting],
        "sent": sorted([*shown(report), verdict, reason] for report, verdict, reason in sent),
    }


def has_postgres() -> bool:
    """Whether a server can be run; CI has one."""
    return binaries() is not None or bool(os.environ.get("CI"))
