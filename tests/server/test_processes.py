"""Several collectors as processes on one database, over HTTP: exact under load and over kills."""

import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.harness.collector import LASTING, report
from tests.harness.collector_process import Serving
from tests.harness.collector_processes import (
    COUNTED,
    PATIENCE_SECONDS,
    Load,
    fleet,
    read,
    sent,
    today,
)

from benchmarks.postgres_server import Server
from rumor_server.storage.postgres.connection import upgrade

# Whole processes, which take seconds to start.
pytestmark = pytest.mark.slow

# `rumor serve` on a machine whose clock is so many days ahead.
AHEAD = """
import os, sys
from datetime import date, timedelta
from rumor_server import clock
right = date.fromisoformat(os.environ["HARNESS_DAY"])
clock.system_day = lambda: right + timedelta(days={days})
from rumor_server.cli import serve
sys.exit(serve.main(sys.argv[2:]))
"""


@pytest.fixture
def url(database: str, request: pytest.FixtureRequest) -> str:
    """The address of a PostgreSQL database, or "" for a SQLite file."""
    if database == "sqlite":
        return ""
    postgres: Server = request.getfixturevalue("postgres")
    made = postgres.make()
    upgrade(made)
    return made


both = pytest.mark.parametrize("database", ["postgres", "sqlite"])
only_postgres = pytest.mark.parametrize("database", ["postgres"])


@both
def test_counts_what_it_acknowledged_over_a_kill(url: str, database: str, tmp_path: Path) -> None:
    """Three processes under load, one of them killed and started again: acknowledged =
    counted, budgets and duplicates exact, and every process says the same of the database.
    """
    with fleet(tmp_path, 3, url) as collectors:
        load = Load(collectors, devices=6)

        def kill() -> None:
            load.wait_for(60)
            collectors[0].kill()
            load.wait_for(30)
            collectors[0].start()
            load.wait_for(60)

        load.run(kill)
        assert load.verdicts["accepted"] > 0
        assert set(load.verdicts) <= {*COUNTED, "budget_exceeded"}
        assert collectors.n() == load.counted
        figures = collectors.figures()
        counted = 'rumor_database_counted_reports{metric="theme",revision="1"}'
        assert figures[counted] == load.counted
        log = collectors.log().lower()
        assert "deadlock" not in log
        assert "traceback" not in log
        assert "is locked" not in log
    if url:
        with psycopg.connect(url) as connection:
            row = connection.execute(
                "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
        assert row == (0,)


@both
def test_shares_limits_between_four_over_restarts(url: str, database: str, tmp_path: Path) -> None:
    """CO-02: four processes, a limit of 10: of 100 reports of one device ten are counted, and of
    ten more after all were ended, some by SIGKILL, none.
    """
    with fleet(tmp_path, 4, url) as collectors:
        pseudonym = os.urandom(16)
        bodies = [sent(report(), pseudonym=pseudonym) for _ in range(100)]
        with ThreadPoolExecutor(25) as threads:
            verdicts = [one for (one,) in threads.map(collectors.anywhere, bodies)]
            assert Counter(verdicts) == {"accepted": 10, "budget_exceeded": 90}
            for number, one in enumerate(collectors):
                if number % 2:
                    one.kill()
                else:
                    assert one.stop() == 0
            list(threads.map(Serving.start, collectors))
        more = [collectors.anywhere(sent(report(), pseudonym=pseudonym)) for _ in range(10)]
        assert more == [["budget_exceeded"]] * 10
        assert collectors.n() == 10


@only_postgres
def test_takes_nothing_while_it_can_not_count(
    url: str, database: str, postgres: Server, tmp_path: Path
) -> None:
    """CO-02: where the database can't be reached, every process answers 503, and nothing is free
    afterwards: the budget is what it was.
    """
    with (
        fleet(tmp_path, 2, url) as collectors,
        psycopg.connect(postgres.url("postgres"), autocommit=True) as outside,
    ):
        pseudonym = os.urandom(16)
        spent = sent(*[report() for _ in range(9)], pseudonym=pseudonym)
        assert collectors.anywhere(spent) == ["accepted"] * 9
        name = str(conninfo_to_dict(url)["dbname"])
        allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        outside.execute(allow.format(sql.Identifier(name), sql.SQL("false")))
        outside.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        last = sent(*[report() for _ in range(2)], pseudonym=pseudonym)
        for one in collectors:
            for _ in range(3):
                answer = one.request("POST", "/v1/reports", last)
                assert answer.status == 503, answer.body
                assert answer.type == "application/problem+json"
                assert int(answer.headers["Retry-After"]) >= 1
        outside.execute(allow.format(sql.Identifier(name), sql.SQL("true")))
        assert collectors.anywhere(last) == ["accepted", "budget_exceeded"]
        assert collectors.anywhere(spent) == ["duplicate"] * 9
        for one in collectors:
            read(one, "/readyz")
        assert collectors.n() == 10


@both
def test_sees_a_day_that_another_closed(url: str, database: str, tmp_path: Path) -> None:
    """A process whose clock is two days ahead closes two days more: the others refuse their reports
    at once, though their own clocks would take them, and count on for the rest.
    """
    old, kept = today() - timedelta(days=6), today() - timedelta(days=5)
    with fleet(tmp_path, 2, url) as collectors:
        before = [sent(report(), day=day) for day in (old, kept)]
        assert [collectors.anywhere(body) for body in before] == [["accepted"]] * 2
        assert [collectors.anywhere(body) for body in before] == [["duplicate"]] * 2
        assert collectors.figures()["rumor_database_closed_days_ago"] == 8
        folder = tmp_path / "ahead"
        folder.mkdir()
        program = [sys.executable, "-c", AHEAD.format(days=2)]
        file = collectors[0].database
        ahead = Serving(folder, LASTING, database=file, url=url, program=program)
        ahead.start()
        try:
            # It closes as it starts; its first answer may come before that.
            until = time.monotonic() + PATIENCE_SECONDS
            while collectors.figures()["rumor_database_closed_days_ago"] != 6:
                assert time.monotonic() < until
                time.sleep(0.05)
        finally:
            ahead.kill()
        for one in collectors:
            answers = [one.request("POST", "/v1/reports", body) for body in before]
            results = [answer.json["results"][0] for answer in answers]
            assert [each["reason"] or each["verdict"] for each in results] == [
                "too_late",
                "duplicate",
            ]
            fresh = one.request("POST", "/v1/reports", sent(report(), day=old))
            assert fresh.json["results"][0]["reason"] == "too_late"
        assert collectors.anywhere(sent(report(), day=kept)) == ["accepted"]
        assert collectors.n() == 3
