"""Whoever merges what in whatever order, over both databases: the same estimate, nothing twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.harness.collector import batch, report
from tests.harness.exchanging_collectors import (
    DAYS,
    DECLARED,
    WIDE_VALUES,
    Make,
    collect,
    compact_deltas,
    exported,
    files,
    merge,
    rows_of,
    tables,
)
from tests.server.storage.store_contract import postgres_remember

from benchmarks.postgres_server import Server
from rumor_server.settings import Settings
from rumor_server.storage.open_store import open_store
from rumor_server.storage.tally_file import read_tallies, write_tallies
from rumor_server.storage.tally_transfer import MergeRefused

Kind = str
Lend = Callable[[Kind], Settings]
SERVERS = 4


@dataclass
class Pool:
    """Empty databases of both kinds, for one example after the other."""

    make: Make
    made: list[tuple[Settings, Callable[[], None]]] = field(default_factory=list)

    @contextmanager
    def lending(self) -> Iterator[Lend]:
        """Lend each database once; those of PostgreSQL are emptied first."""
        numbers = itertools.count()
        with TemporaryDirectory() as folder:
            make = files(Path(folder))
            yield lambda kind: make() if kind == "sqlite" else self._tables(next(numbers))

    def _tables(self, number: int) -> Settings:
        if number == len(self.made):
            where = self.make()
            self.made.append((where, postgres_remember(where.database_url)()))
        where, empty = self.made[number]
        empty()
        return where


@pytest.fixture(scope="module")
def pool(postgres: Server) -> Pool:
    """Databases that the examples of this module share."""
    return Pool(tables(postgres))


kinds = st.lists(st.sampled_from(["sqlite", "postgres"]), min_size=SERVERS, max_size=SERVERS)
devices = st.lists(
    st.tuples(
        st.integers(0, SERVERS - 1),
        st.integers(0, 2),
        st.integers(0, 2**16 - 1),
        st.integers(0, WIDE_VALUES - 1),
        st.sampled_from(DAYS),
    ),
    max_size=24,
)
slowly = settings(
    max_examples=10,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.mark.slow
@slowly
@given(
    devices=devices,
    kinds=kinds,
    target=st.sampled_from(["sqlite", "postgres"]),
    order=st.permutations(range(SERVERS)),
    folded=st.sets(st.integers(0, SERVERS)),
)
def test_any_split_over_servers_gives_the_identical_estimate(
    pool: Pool,
    devices: list[tuple[int, int, int, int, date]],
    kinds: list[Kind],
    target: Kind,
    order: list[int],
    folded: set[int],
) -> None:
    """Reports split among collectors on either database, their tallies merged in any order, with or
    without compaction between, estimate exactly as if one collector had had all reports.
    """
    shares: list[list[dict[str, object]]] = [[] for _ in kinds]
    for server, theme, bits, value, day in devices:
        page = report("page", bits.to_bytes(2, "little"), revision=3, cohort=bits % 4)
        wide = report("wide", value.to_bytes(2, "little"))
        shares[server].append(batch(report(payload=bytes([theme])), page, wide, day=day))
    with pool.lending() as lend, TemporaryDirectory() as folder:
        whole = collect(lend("sqlite"), [one for share in shares for one in share])
        merged = collect(lend(target))
        for server in order:
            part = collect(lend(kinds[server]), shares[server])
            if server in folded:
                compact_deltas(part)
            file = Path(folder, f"{server}.npz")
            write_tallies(file, exported(part))
            merge(merged, read_tallies(file))
        if SERVERS in folded:
            compact_deltas(merged)
        assert rows_of(merged) == rows_of(whole)


ways = st.lists(
    st.tuples(st.integers(0, SERVERS - 1), st.integers(0, SERVERS - 1)), min_size=6, max_size=16
)


@slowly
@given(kinds=kinds, ways=ways, last=st.lists(st.sampled_from(DAYS), min_size=4, max_size=4))
def test_no_way_round_counts_a_report_twice(
    pool: Pool, kinds: list[Kind], ways: list[tuple[int, int]], last: list[date]
) -> None:
    """Whatever is merged into whatever, by whatever detours over both databases: a file is refused
    exactly where a day's collector is there already, and each database counts each report once.

    Each collector has a bit of its own, so that a cell of 2 proves a double count.
    """
    own = {
        (server, day): batch(
            report("page", (1 << server).to_bytes(2, "little"), revision=3), day=day
        )
        for server in range(SERVERS)
        for day in DAYS
    }
    with pool.lending() as lend:
        places = [
            collect(lend(kind), [own[server, day] for day in DAYS], closed=last[server])
            for server, kind in enumerate(kinds)
        ]
        held = {(server, day): {server} for server in range(SERVERS) for day in DAYS}
        for giver, taker in ways:
            days = [day for day in DAYS if day <= last[giver]]
            is_new = not any(held[giver, day] & held[taker, day] for day in days)
            try:
                merge(places[taker], exported(places[giver]))
                assert is_new
            except MergeRefused:
                assert not is_new
                continue
            for day in days:
                held[taker, day] |= held[giver, day]
        metric = DECLARED.metric("page")
        for server, where in enumerate(places):
            with closing(open_store(where)) as store:
                for day in DAYS:
                    tally = store.tally(metric, day, day)
                    counts = [int(one) for one in tally.counts.sum(axis=0)]
                    assert counts[:SERVERS] == [int(i in held[server, day]) for i in range(SERVERS)]
                    assert tally.n == len(held[server, day])
