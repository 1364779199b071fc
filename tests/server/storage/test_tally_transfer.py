"""Tallies travel between databases of either kind and are added, once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.harness.collector import REGISTRY, TODAY, batch, registry, report
from tests.harness.exchanging_collectors import (
    DAYS,
    DECLARED,
    WIDE_VALUES,
    Make,
    collect,
    compact_deltas,
    counted,
    exported,
    files,
    merge,
    screened,
    tables,
    themes,
)
from tests.server.storage.store_contract import taken_back, together

from benchmarks.postgres_server import Server
from rumor_server.errors import StoreError, StoreUnavailable, UnknownSchema
from rumor_server.settings import Settings
from rumor_server.statistics.tally import Tally
from rumor_server.storage.open_store import open_store, open_transfer
from rumor_server.storage.postgres.connection import Lock, connect
from rumor_server.storage.tally_file import DayTally, write_tallies
from rumor_server.storage.tally_rows import TallyRow
from rumor_server.storage.tally_transfer import (
    MergeRefused,
    export_tallies,
    merge_tallies,
    source,
)


class ExchangeContract:
    """Subclasses bring `make`, which makes an empty database of their kind."""

    def test_merges_into_what_is_there(self, make: Make) -> None:
        """The database's own reports and those of a file add, day by day."""
        here = collect(make(), themes("0012", DAYS[1]))
        merge(here, exported(collect(make(), [*themes("112"), *themes("0", DAYS[1])])))
        assert counted(here) == [3, 3, 2]
        with closing(open_store(here)) as store:
            metric = DECLARED.metric("theme")
            assert [store.tally(metric, day, day).n for day in DAYS] == [3, 5]

    def test_carries_every_chunk(self, make: Make) -> None:
        """A tally of three chunks arrives whole, from one row a chunk or from several."""
        values = [0, 255, 256, WIDE_VALUES - 1, 0]
        sent = [batch(report("wide", value.to_bytes(2, "little")), day=DAYS[0]) for value in values]
        there, here = collect(make(), sent[:3]), collect(make())
        compact_deltas(there)
        with closing(open_store(there)) as store:
            store.declare(DECLARED)
            assert store.close_days(TODAY) == TODAY
        again = collect(make(), sent[3:])
        for part in (there, again):
            merge(here, exported(part))
        (entry,) = exported(here)
        assert np.flatnonzero(entry.tally.counts[0]).tolist() == [0, 255, 256, WIDE_VALUES - 1]
        assert (entry.tally.counts[0, 0], entry.tally.n) == (2, 5)

    def test_refuses_a_file_twice(self, make: Make) -> None:
        """The same reports are never added again: not by the file, nor by a later export."""
        here, there = collect(make()), collect(make(), themes("01"))
        tallies = exported(there)
        merge(here, tallies)
        for again, target in ((tallies, here), (exported(there), here), (tallies, there)):
            with pytest.raises(MergeRefused, match="counted here already"):
                merge(target, again)
        with pytest.raises(MergeRefused, match="counted here already"):
            merge(collect(make()), tallies * 2)
        assert counted(here) == counted(there) == [1, 1, 0]

    def test_refuses_another_meaning_whole(self, make: Make) -> None:
        """A tally of other parameters is refused, and the rest of its file with it."""
        page = batch(report("page", b"\x01\x00", revision=3, cohort=2), day=DAYS[0])
        tallies = exported(collect(make(), [page, *themes("0"), *themes("1", DAYS[1])]))
        here = make()
        with closing(open_store(here)) as store:
            store.declare(registry(REGISTRY.replace("epsilon = 1.0", "epsilon = 2.0")))
        with pytest.raises(
            MergeRefused, match=r"theme revision 1 of [-0-9]+: means something else"
        ):
            merge(here, tallies)
        assert counted(here) == [0, 0, 0]
        assert exported(here) == []

    def test_refuses_what_would_not_add(self, make: Make) -> None:
        """A metric that was never declared and counts of another shape are refused, by name."""
        (entry,) = exported(collect(make(), themes("0")))
        with pytest.raises(MergeRefused, match=r"theme revision 1 .* give the registry"):
            merge(make(), [entry])
        narrow = Tally(entry.tally.reports, entry.tally.counts[:, :2])
        here = collect(make())
        with pytest.raises(MergeRefused, match="another shape"):
            merge(here, [replace(entry, tally=narrow)])
        merge(here, [entry])

    def test_adds_all_or_nothing(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fault after the first of two tallies leaves neither, and the file can come again."""
        tallies = exported(collect(make(), [*themes("0"), *themes("12", DAYS[1])]))
        here = collect(make())
        count = itertools.count()

        def merge_with_a_fault() -> None:
            with open_transfer(here, reads_only=False) as transfer:
                work = transfer.add

                def fail_at_second(rows: Iterable[TallyRow]) -> None:
                    work(rows)
                    if next(count):
                        raise OSError("planted")

                monkeypatch.setattr(transfer, "add", fail_at_second)
                merge_tallies(transfer, tallies)

        with pytest.raises(OSError, match="planted"):
            merge_with_a_fault()
        assert next(count) == 2
        assert counted(here) == [0, 0, 0]
        merge(here, tallies)
        assert counted(here) == [1, 1, 1]

    def test_keeps_open_days_back(self, make: Make) -> None:
        """A day that still takes reports is not exported, since it would change."""
        sent = [*themes("0"), *themes("11", DAYS[1])]
        path = collect(make(), sent, closed=None)
        assert exported(path) == []
        collect(path, closed=DAYS[0])
        (entry,) = exported(path)
        assert (entry.day, entry.tally.n) == (DAYS[0], 1)

    def test_exports_the_metrics_asked_for(self, make: Make) -> None:
        """Names choose; a name that the database does not have is an error."""
        page = batch(report("page", b"\x01\x00", revision=3, cohort=2), day=DAYS[0])
        path = collect(make(), [*themes("0"), page])
        assert [entry.metric for entry in exported(path)] == ["page", "theme"]
        assert [entry.metric for entry in exported(path, ["page"])] == ["page"]
        with pytest.raises(StoreError, match="none: the database has no metric"):
            exported(path, ["none"])

    def test_takes_along_what_was_taken_back(self, make: Make) -> None:
        """Retracted reports don't travel, and a day that has none left is not exported."""
        sent = [*themes("01"), *themes("2", DAYS[1])]
        path = collect(make(), sent, closed=None)
        with closing(open_store(path)) as store:
            store.retract([taken_back(one) for one in sent[1:]])
            store.close_days(TODAY)
        (entry,) = exported(path)
        assert (entry.day, entry.tally.counts.tolist()) == (DAYS[0], [[1, 0, 0]])

    def test_exports_one_moment(self, make: Make) -> None:
        """Reports that are merged during an export are in it with their collector or not at all."""
        here = collect(make(), themes("0"))
        other = exported(collect(make(), themes("11")))
        with open_transfer(here, reads_only=True) as transfer:
            key, _ = transfer.collector()
            merge(here, other)
            compact_deltas(here)
            ((entry,), _) = export_tallies(transfer)
        assert (set(entry.sources), entry.tally.n) == ({source(key)}, 1)
        (entry,) = exported(here)
        assert (set(entry.sources), entry.tally.n) == ({source(key), *other[0].sources}, 3)

    def test_adds_once_from_many(self, make: Make) -> None:
        """Of six processes that merge one file at once, in two orders, exactly one adds it."""
        tallies = exported(collect(make(), [*themes("0"), *themes("12", DAYS[1])]))
        here = collect(make())
        outcomes: list[str] = []

        def attempt(order: list[DayTally]) -> None:
            try:
                merge(here, order)
                outcomes.append("added")
            except MergeRefused:
                outcomes.append("refused")

        together([partial(attempt, tallies), partial(attempt, tallies[::-1])] * 3)
        assert sorted(outcomes) == ["added"] + ["refused"] * 5
        assert counted(here) == [1, 1, 1]

    def test_waits_for_another_merge(self, make: Make) -> None:
        """A merge under way is waited for as long as one may; if it fails, the next one adds."""
        tallies = exported(collect(make(), themes("0")))
        here = collect(make())
        hasty = replace(here, busy_seconds=0.2)

        def fail_beside_another() -> None:
            with open_transfer(here, reads_only=False) as transfer:
                merge_tallies(transfer, tallies)
                with pytest.raises(StoreUnavailable, match=r"locked.*try again"):
                    merge(hasty, tallies)
                raise OSError("planted")

        with pytest.raises(OSError, match="planted"):
            fail_beside_another()
        assert counted(here) == [0, 0, 0]
        merge(here, tallies)
        assert counted(here) == [1, 0, 0]

    def test_adds_beside_a_collector(self, make: Make) -> None:
        """Commits, compaction, exports and four merges at once: no report more, none less.

        Each export on the way has exactly the reports of the collectors that it names.
        """
        here = collect(make(), themes("0"), closed=DAYS[1])
        parts = [exported(collect(make(), themes("1" * 2**i))) for i in range(4)]
        (own,) = exported(here)
        reports = {name: entry.tally.n for (entry,) in parts for name in entry.sources}
        reports |= dict.fromkeys(own.sources, 1)

        def commit() -> None:
            with closing(open_store(here)) as node:
                node.declare(DECLARED)
                for sent in screened(themes("2" * 20, TODAY)):
                    node.commit([sent])

        def fold() -> None:
            for _ in range(20):
                compact_deltas(here)

        def look() -> None:
            for _ in range(20):
                (entry,) = exported(here)
                assert entry.tally.n == sum(reports[name] for name in entry.sources)

        together([commit, fold, look, *(partial(merge, here, part) for part in parts), commit])
        assert counted(here) == [1, 15, 40]
        compact_deltas(here)
        assert counted(here) == [1, 15, 40]
        (entry,) = exported(here)
        assert entry.sources == set(reports)

    def test_tells_nothing_but_counts(self, make: Make, tmp_path: Path) -> None:
        """No key, no id and no pseudonym leaves a database with its tallies."""
        here = collect(make(), themes("0"))
        with open_transfer(here, reads_only=True) as transfer:
            key, _ = transfer.collector()
        file = tmp_path / "tallies.npz"
        write_tallies(file, exported(here))
        content = file.read_bytes()
        assert key not in content
        assert key.hex().encode() not in content
        with np.load(file) as arrays:
            assert sorted(arrays) == ["counts_0", "header", "reports_0"]


class TestOnSqlite(ExchangeContract):
    """Between SQLite files."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        """Make files in a folder of the test's own."""
        return files(tmp_path)

    def test_refuses_a_file_that_is_not_ours(self, tmp_path: Path) -> None:
        """An export from nothing, from another program's file or version makes and changes none."""
        absent = Settings(database=tmp_path / "absent")
        with pytest.raises(StoreError, match="no such database"):
            exported(absent)
        assert not absent.database.exists()
        (tmp_path / "empty").touch()
        with pytest.raises(UnknownSchema, match="rumor db upgrade"):
            exported(Settings(database=tmp_path / "empty"))
        (tmp_path / "noise").write_bytes(bytes(range(256)) * 40)
        for attempt in (exported, collect):
            with pytest.raises(UnknownSchema, match="not a SQLite database"):
                attempt(Settings(database=tmp_path / "noise"))


class TestOnPostgres(ExchangeContract):
    """Between PostgreSQL databases."""

    @pytest.fixture
    def make(self, postgres: Server) -> Make:
        """Make databases on the server of the tests."""
        return tables(postgres)

    def test_refuses_a_database_that_was_not_upgraded(self, postgres: Server) -> None:
        """Neither way changes a schema: without `rumor db upgrade` it says so."""
        bare = Settings(database_url=postgres.make())
        for attempt in (exported, partial(merge, tallies=[])):
            with pytest.raises(UnknownSchema, match="rumor db upgrade"):
                attempt(bare)

    def test_holds_up_no_collector(self, make: Make) -> None:
        """While a merge is under way, days are closed, registries adopted and reports counted."""
        tallies = exported(collect(make(), themes("0")))
        here = collect(make())
        hasty = replace(here, busy_seconds=5)
        with open_transfer(here, reads_only=False) as transfer:
            merge_tallies(transfer, tallies)
            collect(hasty, closed=DAYS[1])
            with connect(hasty.database_url, 5) as other, other.transaction():
                other.execute("SELECT pg_advisory_xact_lock(%s)", (Lock.COMMIT,))
            assert exported(hasty) == []
        assert counted(here) == [1, 0, 0]

    def test_hides_the_password_of_its_address(self) -> None:
        """A server that can't be reached is named by the kind of fault alone."""
        url = "postgresql://someone:SECRET123@127.0.0.1:1/rumor"
        with pytest.raises(StoreUnavailable) as caught:
            exported(Settings(database_url=url))
        assert "SECRET123" not in str(caught.value)
