"""What every store must do: the same tests for each database."""

import itertools
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg import sql
from tests.harness.collector import REGISTRY, TODAY, batch, compact, days_ago, registry, report

from rumor_server.errors import ChangedMeaning
from rumor_server.ingestion.batch import RetractionBatch, decode_batch
from rumor_server.ingestion.retraction import Retractions, screen_retractions
from rumor_server.ingestion.screening import Charges, ScreenedBatch, screen_batch
from rumor_server.storage.postgres.connection import connect
from rumor_server.storage.store import Store
from rumor_shared.wire import JSON, Reason, Retraction, Verdict

OpenStore = Callable[[], Store]
Count = Callable[[str], int]
Remember = Callable[[], Callable[[], None]]
THEME = registry().metric("theme")


def screened(document: dict[str, Any], today: date = TODAY) -> ScreenedBatch:
    """A batch as screening passes it to the store."""
    declared = registry()
    decoded = decode_batch(compact(document), JSON)
    return screen_batch(decoded, Charges(declared), today, declared.max_age_days)


def taken_back(document: dict[str, Any], today: date = TODAY) -> Retractions:
    """The retraction of a whole batch, as screening passes it to the store."""
    sent = decode_batch(compact(document), JSON)
    retracted = RetractionBatch(sent.sdk, sent.day, sent.pseudonym, sent.reports)
    declared = registry()
    return screen_retractions(retracted, Charges(declared), today, declared.max_age_days)


def forget_all(store: Store, at_most: int = 2) -> None:
    """Delete what is remembered of closed days, a slice after another."""
    while store.forget_closed(at_most):
        pass


def together(works: Sequence[Callable[[], object]]) -> None:
    """Do all at once, each on a thread of its own; raise the first fault."""
    faults: list[BaseException] = []

    def watched(work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=watched, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def sqlite_remember(path: Path) -> Remember:
    """Return what copies a file's rows into another file, and back, without waiting for a disk."""
    numbers = itertools.count()

    def transfer(source: Path, target: Path) -> None:
        with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
            other.execute("PRAGMA synchronous = OFF")
            one.backup(other)

    def copy() -> Callable[[], None]:
        kept = path.with_name(f"copy{next(numbers)}.sqlite3")
        transfer(path, kept)
        return lambda: transfer(kept, path)

    return copy


TABLES = [
    "collector",
    "day_keys",
    "registries",
    "series",
    "ids",
    "spend",
    "tallies",
    "deltas",
    "merged",
]


def postgres_remember(url: str) -> Remember:
    """Return what copies the rows of a database into memory, and back."""

    def copy() -> Callable[[], None]:
        kept: dict[str, list[bytes]] = {}
        with connect(url, 1) as connection:
            for table in TABLES:
                words = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
                with connection.cursor().copy(words) as rows:
                    kept[table] = [bytes(row) for row in rows]

        def restore() -> None:
            with connect(url, 30) as connection, connection.transaction():
                # Not TRUNCATE, which makes and syncs a file for each table and index.
                connection.execute("SET LOCAL synchronous_commit = off")
                for table in reversed(TABLES):
                    connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
                for table, lines in kept.items():
                    words = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))
                    with connection.cursor().copy(words) as rows:
                        for line in lines:
                            rows.write(line)

        return restore

    return copy


class StoreContract:
    """Subclasses bring what the tests do to a database: `open_store` opens it any number of times,
    `count` counts a table's rows, `remember` notes all rows and returns how to restore them.
    """

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Iterator[Store]:
        """A store that has adopted the registry of the tests."""
        with closing(open_store()) as opened:
            opened.declare(registry())
            yield opened

    @pytest.fixture
    def nodes(self, store: Store, open_store: OpenStore) -> Iterator[list[Store]]:
        """Four stores on one database, as four processes hold it."""
        opened = [open_store() for _ in range(4)]
        for one in opened:
            one.declare(registry())
        yield opened
        for one in opened:
            one.close()

    def test_commits_a_group_in_order(self, store: Store) -> None:
        """Batches of one group are decided as if each came alone, duplicates among them too."""
        sent = batch(report())
        more = batch(*[report() for _ in range(12)])
        first, again, rest = store.commit([screened(sent), screened(sent), screened(more)])
        assert [one.verdict for one in first + again] == [Verdict.ACCEPTED, Verdict.DUPLICATE]
        assert [one.reason for one in rest] == [None] * 10 + [Reason.BUDGET_EXCEEDED] * 2

    def test_charges_on_what_was_spent(self, store: Store) -> None:
        """A budget is one over commits, and a refused report leaves nothing."""
        sent = batch(*[report() for _ in range(6)])
        store.commit([screened(sent)])
        (rest,) = store.commit(
            [screened(sent | {"reports": [report("page", b"..", revision=3), *[report()] * 6]})]
        )
        verdicts = [one.verdict for one in rest]
        assert verdicts == [Verdict.ACCEPTED] * 2 + [Verdict.DUPLICATE] * 5
        (rest,) = store.commit([screened(sent | {"reports": [report() for _ in range(4)]})])
        assert [one.reason for one in rest] == [None] * 3 + [Reason.BUDGET_EXCEEDED]
        assert store.tally(THEME, TODAY, TODAY).n == 10

    def test_keeps_tallies_larger_than_a_chunk(self, store: Store) -> None:
        """Cells of every chunk are counted, the last and shorter one too, and reports once."""
        values = [f"v{number}" for number in range(600)]
        text = f"""
        [metrics.wide]
        revision = 1
        mechanism = "krr"
        epsilon = 1.0
        daily_epsilon = 100.0
        values = {values}
        owner = "test@example.org"
        purpose = "to test"
        expires = 2026-12-31
        """
        declared = registry(text.replace("'", '"'))
        store.declare(declared)
        for value in (0, 255, 256, 511, 512, 599, 599):
            document = batch(report("wide", value.to_bytes(2, "little")))
            decoded = decode_batch(compact(document), JSON)
            store.commit([screen_batch(decoded, Charges(declared), TODAY, 7)])
        expected = np.bincount([0, 255, 256, 511, 512, 599, 599], minlength=600)
        for _ in range(2):
            tally = store.tally(declared.metric("wide"), TODAY, TODAY)
            assert tally.n == 7
            assert np.array_equal(tally.counts[0], expected)
            store.compact()

    def test_compacts_without_a_change(self, store: Store) -> None:
        """What commits appended, if they append, is folded once; sums stay, before and after."""
        sent = [batch(report("page", b"\x03\x80", revision=3, cohort=one % 4)) for one in range(9)]
        page = registry().metric("page")
        for document in sent:
            store.commit([screened(document)])
        store.retract([taken_back(sent[0])])
        before = store.tally(page, TODAY, TODAY)
        store.compact()
        assert store.compact() == 0
        store.commit([screened(batch(report("page", b"\x01\x00", revision=3)))])
        store.compact()
        after = store.tally(page, TODAY, TODAY)
        assert before.reports.tolist() == [2, 2, 2, 2]
        assert after.reports.tolist() == [3, 2, 2, 2]
        assert (after.counts - before.counts).sum() == 1

    def test_forgets_a_day_when_it_closes(self, store: Store, count: Count) -> None:
        """Closing a day deletes its ids, spend and keys; tallies stay, reports come too late."""
        old = screened(batch(report(), day=days_ago(3)))
        new = screened(batch(report(), day=days_ago(2)))
        store.commit([old, new])
        assert store.close_days(days_ago(3)) == days_ago(3)
        assert [count(table) for table in ("ids", "spend", "day_keys")] == [2, 4, 1]
        ((late,), _) = store.commit([old, new])
        assert late.reason == Reason.TOO_LATE
        forget_all(store)
        assert [count(table) for table in ("ids", "spend", "day_keys")] == [1, 2, 1]
        ((late,), (known,)) = store.commit([old, new])
        assert late.reason == Reason.TOO_LATE
        assert known.verdict == Verdict.DUPLICATE
        assert store.tally(THEME, date.min, date.max).n == 2
        assert count("day_keys") == 1

    @pytest.mark.parametrize("at_most", [1, 3, 1000])
    def test_c12_forgets_a_closed_day_in_slices(
        self, store: Store, count: Count, at_most: int
    ) -> None:
        """C-12: a closed day goes by so many rows at a time; between two, reports are counted."""
        old = [screened(batch(report(), day=days_ago(3))) for _ in range(9)]
        new = [screened(batch(report())) for _ in range(9)]
        for group in zip(old, new, strict=True):
            store.commit(group)
        store.close_days(days_ago(3))
        left = count("ids") + count("spend")
        while store.forget_closed(at_most):
            now = count("ids") + count("spend")
            assert left - now <= 2 * at_most
            ((known,), (late,)) = store.commit([new[0], old[0]])
            assert (known.verdict, late.reason) == (Verdict.DUPLICATE, Reason.TOO_LATE)
            left = now
        assert (count("ids"), count("spend")) == (9, 18)
        assert not store.forget_closed(at_most)
        assert store.tally(THEME, date.min, date.max).n == 18

    def test_c07_a_tombstone_costs_what_its_report_would(self, store: Store, count: Count) -> None:
        """C-07: a device sets no more tombstones a day than it may send reports, in all."""
        sent = batch(*[report() for _ in range(4)], pseudonym=b"p" * 16)
        store.commit([screened(sent)])
        flood = batch(*[report() for _ in range(20)], pseudonym=b"p" * 16)
        withdrawal = store.retract([taken_back(flood)])
        assert {one.verdict for one in withdrawal.results[0]} == {Retraction.NOT_COUNTED_YET}
        assert withdrawal.receipts == []
        assert count("ids") == 10
        ((result, *_),) = store.commit([screened(flood)])
        assert result.verdict is not Verdict.ACCEPTED
        assert store.commit([screened(flood)])[0][-1].reason is Reason.BUDGET_EXCEEDED
        # What was counted is taken back all the same, at no cost.
        assert store.retract([taken_back(sent)]).results[0][0].verdict is Retraction.RETRACTED
        assert store.tally(THEME, date.min, date.max).n == 0

    @pytest.mark.parametrize(
        "wrong", [{"metric": "nobody's"}, {"revision": 7}, {"payload": ""}, {"cohort": 9}]
    )
    def test_c07_no_tombstone_for_what_can_not_be_counted(
        self, store: Store, count: Count, wrong: dict[str, Any]
    ) -> None:
        """A report that would be refused whenever it came needs none."""
        withdrawal = store.retract([taken_back(batch(report() | wrong))])
        assert withdrawal.results[0][0].verdict is Retraction.NOT_COUNTED_YET
        assert count("ids") == 0

    def test_never_opens_a_closed_day_again(self, store: Store, open_store: OpenStore) -> None:
        """Whatever the clock does, the last closed day does not move back, nor over a restart."""
        assert store.close_days(days_ago(1)) == days_ago(1)
        assert store.close_days(days_ago(30)) == days_ago(1)
        with closing(open_store()) as again:
            again.declare(registry())
            assert again.close_days(days_ago(30)) == days_ago(1)
            ((late,),) = again.commit([screened(batch(report(), day=days_ago(1)))])
        assert late.reason == Reason.TOO_LATE

    def test_refuses_a_changed_meaning(self, store: Store) -> None:
        """CF-01: a metric whose noise changed needs another revision; the error names it."""
        changed = registry(REGISTRY.replace("epsilon = 1.0\ndaily", "epsilon = 2.0\ndaily"))
        with pytest.raises(ChangedMeaning, match=r"metrics\.theme\.revision") as caught:
            store.declare(changed)
        assert (caught.value.metric, caught.value.revision) == ("theme", 1)
        reworded = registry(REGISTRY.replace('purpose = "to test"', 'purpose = "to test more"'))
        store.declare(reworded)

    def test_remembers_what_every_revision_meant(self, store: Store) -> None:
        """Revisions of former registries are explained from the registries that declared them."""
        text = REGISTRY.replace("epsilon = 1.0\ndaily", "epsilon = 2.0\ndaily")
        text = text.replace('revision = 1\nmechanism = "krr"', 'revision = 2\nmechanism = "krr"')
        store.declare(registry(text))
        found = store.revisions("theme")
        assert [one.revision for one in found] == [1, 2]
        assert [one.mechanism.epsilon_report for one in found] == [1_000_000, 2_000_000]
        assert store.revisions("unknown") == ()

    def test_shows_only_days_that_have_reports(self, store: Store) -> None:
        """The first and last day of a metric are those with a report that counts."""
        assert store.days("theme") is None
        sent = [batch(report(), day=TODAY - timedelta(days=one)) for one in (5, 2)]
        store.commit([screened(one) for one in sent])
        assert store.days("theme") == (days_ago(5), days_ago(2))
        store.retract([taken_back(sent[0])])
        assert store.days("theme") == (days_ago(2), days_ago(2))
        assert store.days("page") is None
        store.check()

    def test_shares_one_budget_between_nodes(self, nodes: list[Store]) -> None:
        """CO-01: 25 commits at once on four nodes against a cap of 10: exactly 10, every time."""
        for _ in range(5):
            pseudonym = random.randbytes(16)
            sent = [screened(batch(report(), pseudonym=pseudonym)) for _ in range(25)]
            accepted: list[bool] = []

            def send(number: int, sent: list[ScreenedBatch], accepted: list[bool]) -> None:
                ((result,),) = nodes[number % 4].commit([sent[number]])
                accepted.append(result.verdict is Verdict.ACCEPTED)

            together([partial(send, number, sent, accepted) for number in range(25)])
            assert (sum(accepted), len(accepted)) == (10, 25)
        assert nodes[0].tally(THEME, TODAY, TODAY).n == 50

    def test_shares_ids_between_nodes(self, nodes: list[Store]) -> None:
        """SV-06: 20 copies of one report on four nodes at once are counted once."""
        sent = screened(batch(report()))
        verdicts: list[Verdict] = []

        def send(node: Store) -> None:
            ((result,),) = node.commit([sent])
            verdicts.append(result.verdict)

        together([partial(send, node) for node in nodes * 5])
        assert sorted(verdicts) == [Verdict.ACCEPTED] + [Verdict.DUPLICATE] * 19
        assert nodes[0].tally(THEME, TODAY, TODAY).n == 1

    def test_meets_no_deadlock(self, nodes: list[Store]) -> None:
        """DB-04: 48 commits and retractions of the same reports in every order, on four nodes."""
        sent = [batch(report(), pseudonym=bytes([one] * 16)) for one in range(20)]
        order = random.Random(4)

        def work(node: Store) -> Callable[[], object]:
            shuffled = order.sample(sent, 15)
            if order.random() < 0.3:
                return lambda: node.retract([taken_back(one) for one in shuffled])
            if order.random() < 0.2:
                return node.compact
            return lambda: node.commit([screened(one) for one in shuffled])

        together([work(node) for node in nodes * 12])
        held = nodes[0].commit([screened(one) for one in sent])
        counted = nodes[0].tally(THEME, TODAY, TODAY)
        assert 0 <= counted.n <= 20
        assert all(one.verdict in {Verdict.ACCEPTED, Verdict.DUPLICATE} for (one,) in held)
        nodes[1].compact()
        assert nodes[2].tally(THEME, TODAY, TODAY).n == counted.n

    def test_reads_while_it_writes(self, store: Store) -> None:
        """DB-01: 4 threads of reading and 4 of writing meet no lock."""

        def write() -> None:
            for _ in range(50):
                store.commit([screened(batch(report()))])
                store.compact()

        def read() -> None:
            seen = 0
            for _ in range(50):
                n = store.tally(THEME, TODAY, TODAY).n
                assert n >= seen
                seen = n

        together([write, read] * 4)
        assert store.tally(THEME, TODAY, TODAY).n == 200

    def test_replays_receipts_on_a_restored_database(
        self, store: Store, remember: Remember
    ) -> None:
        """What a backup still counts is taken back by its receipts, once however often."""
        sent = batch(*[report() for _ in range(5)])
        late = batch(report(), day=days_ago(3))
        store.commit([screened(sent), screened(late)])
        store.close_days(days_ago(5))
        restore = remember()
        some = sent | {"reports": sent["reports"][:2]}
        withdrawal = store.retract(
            [taken_back(some), taken_back(late), taken_back(batch(report()))]
        )
        receipts = withdrawal.receipts
        assert [one.counted is None for one in receipts] == [False, False, False]
        assert store.replay(receipts) == 0
        assert store.tally(THEME, date.min, date.max).n == 3
        restore()
        assert store.tally(THEME, date.min, date.max).n == 6
        assert [store.replay(receipts * 2) for _ in range(2)] == [3, 0]
        assert store.tally(THEME, date.min, date.max).n == 3
        assert store.retract([taken_back(some)]).results[0][0].verdict is Retraction.ALREADY

    def test_replays_on_a_backup_from_before_the_report(
        self, store: Store, remember: Remember
    ) -> None:
        """An id that the backup never saw is remembered as retracted: its report counts no more."""
        restore = remember()
        sent = batch(report())
        store.commit([screened(sent)])
        receipts = store.retract([taken_back(sent)]).receipts
        restore()
        assert store.replay(receipts) == 1
        ((result,),) = store.commit([screened(sent)])
        assert result.verdict is not Verdict.ACCEPTED
        assert store.tally(THEME, date.min, date.max).n == 0

    def test_replays_nothing_of_closed_days(self, store: Store, remember: Remember) -> None:
        """A backup that was made after a day closed has that day's retractions in its tallies."""
        sent = batch(report(), report())
        store.commit([screened(sent)])
        receipts = store.retract([taken_back(sent | {"reports": sent["reports"][:1]})]).receipts
        store.close_days(TODAY)
        remember()()
        assert store.replay(receipts) == 0
        assert store.tally(THEME, date.min, date.max).n == 1
