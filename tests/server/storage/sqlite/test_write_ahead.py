"""The write-ahead file of SQLite grows under a long reader, and falls back when it is done."""

import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.harness.collector import REGISTRY, batch, collector, report

from rumor_server.storage.sqlite import file as sqlite_file
from rumor_server.storage.sqlite.file import open_reader

LIMIT = 256 * 1024
# A thousand pages, and what a commit may add before SQLite looks.
FOLDED = 5 << 20
GENEROUS = REGISTRY.replace("= 20.0", "= 1000.0").replace("= 10.0", "= 1000.0")


def test_falls_back_after_a_long_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DB-02: under an open cursor the file grows and grows; a few commits later it has fallen back.

    It falls to its limit, 256 KiB here instead of 64 MiB, and grows from there as commits need it:
    4 MiB until SQLite folds it in, and one commit.
    """
    monkeypatch.setattr(sqlite_file, "_WAL_BYTES", LIMIT)
    database = tmp_path / "rumor.sqlite3"
    log = database.with_name(database.name + "-wal")

    def send(batches: int) -> None:
        for _ in range(batches):
            running.send(batch(*[report() for _ in range(500)]))

    with collector(database, GENEROUS) as running:
        send(1)
        with closing(open_reader(database, 5)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM ids").fetchall()
            while log.stat().st_size < 2 * FOLDED:
                send(1)
            assert running.estimates()["n"] > 0
        send(3)
        assert log.stat().st_size < FOLDED


def test_c05_one_copy_of_a_quiet_collector_shows_no_report(tmp_path: Path) -> None:
    """C-05: a second after the last of single reports a copy has no step of them, nor their order.

    Before that the copy has one step a commit, as the threat model says.
    """
    database = tmp_path / "rumor.sqlite3"
    log = database.with_name(database.name + "-wal")
    with collector(database) as running:
        sent = [batch(report(), pseudonym=bytes([i]) * 16) for i in range(24)]
        for one in sent:
            assert running.verdicts(one) == ["accepted"]
        assert log.stat().st_size
        until = time.monotonic() + 10
        while log.stat().st_size:
            assert time.monotonic() < until
            time.sleep(0.05)
        raw = database.read_bytes()
        assert not any(bytes([i]) * 16 in raw for i in range(1, 24))
        assert running.verdicts(sent[0]) == ["duplicate"]
