"""`rumor tallies`: from one collector to another, whichever database each has."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.harness.collector import REGISTRY, TODAY, batch, compact, registry, report
from tests.harness.collector_process import DAY, RUMOR, Serving
from tests.harness.exchanging_collectors import DAYS, EXCHANGED, collect, counted, themes

from benchmarks.postgres_server import Server
from rumor_server.cli.tallies import main
from rumor_server.ingestion.batch import decode_batch
from rumor_server.ingestion.screening import Charges, screen_batch
from rumor_server.settings import Settings
from rumor_server.storage.open_store import open_store
from rumor_server.storage.postgres.connection import upgrade
from rumor_server.storage.tally_file import read_tallies
from rumor_shared.wire import JSON

LASTING = REGISTRY.replace("2026-12-31", "2999-12-31").replace("2026-11-28", "2999-12-31")


@pytest.fixture(params=["sqlite", "postgres"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return Settings(database=tmp_path / "here.sqlite3", busy_seconds=30)
    url = request.getfixturevalue("postgres").make()
    upgrade(url, 30)
    return Settings(database=tmp_path / "unused.sqlite3", database_url=url, busy_seconds=30)


def named(where: Settings) -> list[str]:
    """The words that name a database."""
    return ["--database", where.database_url or str(where.database)]


def carried(where: Settings, file: Path) -> Path:
    """The file that a database exports."""
    assert main(["export", str(file), *named(where)]) == 0
    return file


def test_carries_tallies_from_either_database_to_either(
    here: Settings, tmp_path: Path, postgres: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is exported, merged, exported again and merged once more is told each time."""
    url = postgres.make()
    upgrade(url)
    collect(here, [*themes("01"), *themes("2", DAYS[1])])
    first = carried(here, tmp_path / "first.npz")
    assert f"3 reports in 2 tallies, of days up to {TODAY}" in capsys.readouterr().out
    for there in (
        collect(Settings(database_url=url)),
        collect(Settings(database=tmp_path / "there")),
    ):
        assert main(["merge", str(first), *named(there)]) == 0
        assert f"{first}: added 3 reports in 2 tallies" in capsys.readouterr().out
        assert counted(there) == [1, 1, 1]
        name = "postgres" if there.database_url else "sqlite"
        second = carried(there, tmp_path / f"{name}.npz")
        assert main(["merge", str(second), *named(here)]) == 1
        assert "counted here already" in capsys.readouterr().err
    assert counted(here) == [1, 1, 1]


def test_writes_over_no_file_unasked(
    here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An export refuses a name that is taken, whatever is in it, unless --overwrite is given."""
    collect(here, themes("01"))
    file = tmp_path / "out.npz"
    file.write_bytes(b"important")
    assert main(["export", str(file), *named(here)]) == 1
    assert "is there already; give --overwrite" in capsys.readouterr().err
    assert file.read_bytes() == b"important"
    assert main(["export", str(file), "--overwrite", *named(here)]) == 0
    assert read_tallies(file)


def test_carries_one_day_after_another(here: Settings, tmp_path: Path, postgres: Server) -> None:
    """Each day's file holds that day alone, so that all of them can be merged, each once."""
    url = postgres.make()
    upgrade(url)
    there = collect(Settings(database_url=url))
    collect(here, [*themes("01"), *themes("2", DAYS[1])])
    for day in DAYS[:2]:
        file = tmp_path / f"{day}.npz"
        assert main(["export", str(file), "--from", str(day), "--to", str(day), *named(here)]) == 0
        assert {entry.day for entry in read_tallies(file)} == {day}
        assert main(["merge", str(file), *named(there)]) == 0
    assert counted(there) == [1, 1, 1]


def test_asks_for_days_that_are_days(here: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """A day that is none, or days without a report, are told, and nothing is written."""
    collect(here, themes("01"))
    assert main(["export", "never.npz", "--from", "2026-13-01", *named(here)]) == 1
    assert "--from: give a day" in capsys.readouterr().err
    assert main(["export", "never.npz", "--from", "2999-01-01", *named(here)]) == 1
    assert "nothing was written" in capsys.readouterr().err
    assert not Path("never.npz").exists()


def test_takes_the_database_from_the_settings(
    here: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option, the environment and a file of settings name it, as for the other commands."""
    collect(here, themes("01"))
    name, value = (
        ("database_url", here.database_url)
        if here.database_url
        else ("database", str(here.database))
    )
    given = tmp_path / "rumor.toml"
    given.write_text(f"{name} = {json.dumps(value)}\n")
    file = tmp_path / "one.npz"
    assert main(["export", str(file), "--settings", str(given)]) == 0
    monkeypatch.setenv(f"RUMOR_{name.upper()}", value)
    other = tmp_path / "two.npz"
    assert main(["export", str(other)]) == 0
    with np.load(file) as one, np.load(other) as two:
        assert all(np.array_equal(one[key], two[key]) for key in one)
    assert main(["merge", str(file)]) == 1
    file_wins = collect(Settings(database=tmp_path / "empty"))
    assert main(["merge", str(file), "--database", str(file_wins.database)]) == 0
    assert counted(file_wins) == [1, 1, 0]


def test_needs_the_registry_of_an_unknown_metric(
    here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty database takes tallies once the registry is given; without it, it says so."""
    there = collect(Settings(database=tmp_path / "there"), themes("012"))
    file = carried(there, tmp_path / "there.npz")
    assert main(["merge", str(file), *named(here)]) == 1
    assert "give the registry" in capsys.readouterr().err
    declared = tmp_path / "metrics.toml"
    declared.write_text(EXCHANGED)
    assert main(["merge", str(file), *named(here), "--registry", str(declared)]) == 0
    assert counted(here) == [1, 1, 1]


def test_says_what_can_not_be_exported(
    here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Open days, a metric that nobody declared, a folder: one line each, and no file."""
    collect(here, themes("0"), closed=None)
    file = tmp_path / "out.npz"
    assert main(["export", str(file), *named(here)]) == 1
    assert "no report of a closed day" in capsys.readouterr().err
    assert main(["export", str(file), *named(here), "--metric", "none"]) == 1
    assert "none: the database has no metric" in capsys.readouterr().err
    collect(here)
    assert main(["export", str(tmp_path), *named(here)]) == 1
    assert "is a folder" in capsys.readouterr().err
    assert not file.exists()
    assert main(["export", str(file), *named(here)]) == 0
    assert [entry.metric for entry in read_tallies(file)] == ["theme"]


def test_tells_as_json_what_was_added_before_a_refusal(
    here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file stands for itself: those before the one that is refused are added and told."""
    collect(here)
    parts = [
        carried(collect(Settings(database=tmp_path / name), themes(answers)), tmp_path / answers)
        for name, answers in (("one", "01"), ("two", "2"))
    ]
    capsys.readouterr()
    files = [str(parts[0]), str(parts[0]), str(parts[1])]
    assert main(["merge", *files, *named(here), "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == {"added": [{"file": files[0], "reports": 2, "tallies": 1}]}
    assert "counted here already" in said.err
    assert counted(here) == [1, 1, 0]


def test_needs_an_upgraded_server(
    postgres: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A PostgreSQL database without our schema is left alone, and the advice is to make it."""
    there = collect(Settings(database=tmp_path / "there"), themes("0"))
    file = carried(there, tmp_path / "there.npz")
    url = postgres.make()
    for words in (["export", str(tmp_path / "x")], ["merge", str(file)]):
        assert main([*words, "--database", url]) == 1
        assert "rumor db upgrade" in capsys.readouterr().err


def test_hides_the_password_of_an_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that can't be reached is told without its address."""
    url = "postgresql://someone:SECRET123@127.0.0.1:1/rumor"
    assert main(["export", str(tmp_path / "x"), "--database", url]) == 1
    said = capsys.readouterr()
    assert "can't be reached" in said.err
    assert "SECRET123" not in said.out + said.err


@pytest.fixture
def serving(here: Settings, tmp_path: Path) -> Iterator[Serving]:
    """A collector as a process of its own, on a database of each kind."""
    running = Serving(tmp_path, LASTING, database=here.database, url=here.database_url)
    running.start()
    yield running
    running.kill()


def test_merges_beneath_a_running_collector(
    here: Settings, serving: Serving, tmp_path: Path
) -> None:
    """Devices send while ten files of other collectors are merged by commands of their own: every
    request is answered with 200, and all reports are counted, on either database.
    """
    yesterday = DAY - timedelta(days=1)
    declared = registry(LASTING)
    files = []
    for number in range(10):
        there = Settings(database=tmp_path / f"there{number}")
        with closing(open_store(there)) as store:
            store.declare(declared)
            sent = decode_batch(compact(batch(report(), day=yesterday)), JSON)
            store.commit([screen_batch(sent, Charges(declared), yesterday, 7)])
            store.close_days(yesterday)
        files.append(str(carried(there, tmp_path / f"there{number}.npz")))

    def send(_: int) -> int:
        body = compact(batch(report(payload=b"\x02"), day=yesterday))
        return serving.request("POST", "/v1/reports", body).status

    merging = [
        subprocess.Popen([str(RUMOR), "tallies", "merge", *part, *named(here)])
        for part in (files[:5], files[5:])
    ]
    statuses: list[int] = []
    with ThreadPoolExecutor(2) as threads:
        while any(one.poll() is None for one in merging):
            statuses += threads.map(send, range(20))
    assert [one.returncode for one in merging] == [0, 0]
    assert set(statuses) == {200}
    page = serving.request("GET", "/v1/metrics/theme/estimates").json
    assert page["n"] == len(statuses) + 10
