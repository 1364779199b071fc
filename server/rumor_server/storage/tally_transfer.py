"""Tallies out of one database and into another: once, whatever is repeated, whichever databases.

Only days that are closed go out: they take no more reports. Each tally names the collectors whose
reports it counts, and a database remembers whom it has counted on which day: the same reports can't
be added twice, neither by the same file again, nor by another export, nor on a detour by a third
collector.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from rumor_server.errors import StoreError
from rumor_server.statistics.tally import Tally
from rumor_server.storage.tally_file import SOURCE_BYTES, DayTally
from rumor_server.storage.tally_invariants import DamagedTally, check_tally
from rumor_server.storage.tally_rows import TallyRow, add_chunk
from rumor_shared.mechanism import Mechanism
from rumor_shared.registry import Registry, parse_registry

_SOURCE_LABEL = b"rumor/collector/1"


class Declared(NamedTuple):
    """A metric's revision as a database knows it; `registry` is the SHA-256 of what declared it."""

    series: int
    metric: str
    revision: int
    fingerprint: str
    registry: str


# Whose reports of a day a series counts: (series, day, source).
Claim = tuple[int, date, bytes]
# (day, cohort, chunk, reports, cells), the last four as `add_chunk` takes them.
Chunk = tuple[date, int, int, int, bytes]


class Transfer(Protocol):
    """What the rules ask of a database, all within one transaction that sees one moment."""

    def collector(self) -> tuple[bytes, date]:
        """Return the key of report ids, and the last closed day: date.min where none is."""

    def declared(self) -> list[Declared]:
        """Return every revision of every metric that a registry ever declared."""

    def registry(self, sha256: str) -> bytes:
        """Return a registry that declared one of them."""

    def chunks(self, series: int, last: date) -> Iterable[Chunk]:
        """Return what is counted up to a day; of one chunk there may be several, which add."""

    def sources(self, series: int) -> Iterable[tuple[date, bytes]]:
        """Return the days and other collectors whose reports were merged into a series."""

    def claim(self, claims: Sequence[Claim]) -> set[Claim]:
        """Remember whose reports are to be added; return those that nobody had claimed before.

        `claims` are in order, so that two who claim at once wait for one another in no circle.
        """

    def add(self, rows: Iterable[TallyRow]) -> None:
        """Add to tallies."""


class MergeRefused(StoreError):
    """A tally can't be added; nothing of its file was. `title` names the tally."""

    def __init__(self, title: str, what: str) -> None:
        self.title = title
        super().__init__(f"{title}: {what}")


def export_tallies(
    transfer: Transfer,
    metrics: Collection[str] = (),
    first: date = date.min,
    last: date = date.max,
) -> tuple[list[DayTally], date | None]:
    """Return the tallies of closed days, by metric, revision and day, and the last closed day.

    `metrics` are the names wanted, all if none is given; `first` and `last` the days. Raises
    StoreError for a metric that the database has never seen.
    """
    key, closed = transfer.collector()
    declared = sorted(transfer.declared(), key=lambda one: (one.metric, one.revision))
    names = {one.metric for one in declared}
    for name in metrics:
        if name not in names:
            raise StoreError(f"{name}: the database has no metric of this name")
    if closed == date.min:
        return [], None
    wanted = [one for one in declared if not metrics or one.metric in metrics]
    mechanisms = _mechanisms(transfer, wanted)
    exported: list[DayTally] = []
    for one in wanted:
        days = _closed_days(transfer, one, mechanisms[one.series], min(last, closed), source(key))
        exported += [entry for entry in days if entry.day >= first]
    return exported, closed


def _closed_days(
    transfer: Transfer, one: Declared, mechanism: Mechanism, last: date, own: bytes
) -> Iterator[DayTally]:
    tallies: defaultdict[date, Tally] = defaultdict(partial(Tally.empty, mechanism))
    for day, cohort, chunk, reports, cells in transfer.chunks(one.series, last):
        add_chunk(tallies[day], cohort, chunk, reports, cells)
    sources: defaultdict[date, set[bytes]] = defaultdict(set)
    for day, other in transfer.sources(one.series):
        sources[day].add(other)
    for day, tally in sorted(tallies.items()):
        if tally.n:
            counted = frozenset({own, *sources[day]})
            yield DayTally(one.metric, one.revision, one.fingerprint, day, counted, tally)


def check_tallies(transfer: Transfer) -> None:
    """Return if every tally of a database is one that reports can make. Raises DamagedTally."""
    declared = transfer.declared()
    mechanisms = _mechanisms(transfer, declared)
    for one in declared:
        mechanism = mechanisms[one.series]
        tallies: defaultdict[date, Tally] = defaultdict(partial(Tally.empty, mechanism))
        for day, cohort, chunk, reports, cells in transfer.chunks(one.series, date.max):
            try:
                add_chunk(tallies[day], cohort, chunk, reports, cells)
            except (IndexError, ValueError):
                raise DamagedTally(one.metric) from None
        for tally in tallies.values():
            check_tally(one.metric, mechanism, tally)


def merge_tallies(transfer: Transfer, tallies: Sequence[DayTally]) -> None:
    """Add tallies. The transaction has to end with the first error, so that all or none are added.

    Raises MergeRefused for a metric whose cells mean something else here, or that was never
    declared here; and for reports that this database has counted already.
    """
    key, _ = transfer.collector()
    own = source(key)
    declared = {(one.metric, one.revision): one for one in transfer.declared()}
    found = [_found(declared, entry) for entry in tallies]
    mechanisms = _mechanisms(transfer, found)
    claims: dict[Claim, DayTally] = {}
    for entry, one in zip(tallies, found, strict=True):
        mechanism = mechanisms[one.series]
        if entry.tally.counts.shape != (mechanism.cohorts, mechanism.cells):
            raise MergeRefused(entry.title, "has counts of another shape; export it again")
        for other in entry.sources:
            claim = (one.series, entry.day, other)
            if other == own or claim in claims:
                raise _counted_already(entry)
            claims[claim] = entry
    fresh = transfer.claim(sorted(claims))
    for claim, entry in claims.items():
        if claim not in fresh:
            raise _counted_already(entry)
    for entry, one in zip(tallies, found, strict=True):
        transfer.add(_rows(one.series, entry))


def check_declared(registry: Registry | None, tallies: Iterable[DayTally]) -> None:
    """Raise MergeRefused for a tally that a new database, with this registry, would refuse."""
    declared: dict[tuple[str, int], Declared] = {}
    for metric in registry.metrics.values() if registry else ():
        meant = (metric.name, metric.revision, metric.fingerprint)
        declared[metric.name, metric.revision] = Declared(0, *meant, "")
    for entry in tallies:
        _found(declared, entry)


def source(key: bytes) -> bytes:
    """Return a collector's public name, which its secret key of ids can't be learned from."""
    return hashlib.sha256(_SOURCE_LABEL + key).digest()[:SOURCE_BYTES]


def _found(declared: dict[tuple[str, int], Declared], entry: DayTally) -> Declared:
    one = declared.get((entry.metric, entry.revision))
    if one is None:
        raise MergeRefused(entry.title, "is not declared here; give the registry that declares it")
    if one.fingerprint != entry.fingerprint:
        raise MergeRefused(
            entry.title, "means something else here: another mechanism or other parameters"
        )
    return one


def _mechanisms(transfer: Transfer, wanted: Iterable[Declared]) -> dict[int, Mechanism]:
    """Return the mechanism of each series; each registry is read once."""
    wanted = list(wanted)
    registries = {
        sha256: parse_registry(transfer.registry(sha256), stored=True)
        for sha256 in {one.registry for one in wanted}
    }
    return {one.series: registries[one.registry].metric(one.metric).mechanism for one in wanted}


def _rows(series: int, entry: DayTally) -> Iterator[TallyRow]:
    for cohort in np.flatnonzero(entry.tally.reports).tolist():
        reports, counts = int(entry.tally.reports[cohort]), entry.tally.counts[cohort]
        yield TallyRow(series, entry.day, cohort, reports, counts)


def _counted_already(entry: DayTally) -> MergeRefused:
    return MergeRefused(entry.title, "has reports that are counted here already")
