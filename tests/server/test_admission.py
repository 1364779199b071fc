"""Admission as a function: random histories against a model that is too simple to be wrong."""

from collections import Counter
from datetime import date

from hypothesis import given
from hypothesis import strategies as st
from tests.server.collecting import TODAY, days_ago, registry

from rumor_server.admission import (
    Charges,
    HashedBatch,
    HashedReport,
    Spent,
    admit,
    screen_batch,
)
from rumor_server.batch import Batch, Report
from rumor_server.store import ScreenedBatch
from rumor_shared.wire import Reason, Verdict

REGISTRY = registry()
CHARGES = Charges(REGISTRY)
# Few devices, ids and payloads, so that every kind of collision happens.
SENT = st.tuples(
    st.integers(0, 1), st.integers(0, 25), st.integers(0, 1), st.sampled_from([TODAY, days_ago(2)])
)


def screened(device: int, id_: int, payload: int, day: date) -> ScreenedBatch:
    """A batch of one report."""
    one = Report(bytes([id_] * 16), "theme", 1, 0, bytes([payload]))
    sent = Batch("test/1", day.isoformat(), bytes([device] * 16), [one])
    return screen_batch(sent, CHARGES, TODAY, REGISTRY.max_age_days)


def hashed(batch: ScreenedBatch) -> HashedBatch:
    """The batch with transparent hashes, so that the model can read them."""
    reports = [
        HashedReport(one, one.id, one.id + one.payload + batch.day.isoformat().encode())
        for one in batch.reports
    ]
    accounts = {name: batch.pseudonym + name.encode() for name in ("family theme", "total")}
    return HashedBatch(batch.day, reports, accounts)


@given(st.lists(SENT, max_size=80), st.lists(st.integers(1, 8), max_size=80))
def test_decides_any_history_as_a_simple_model_does(
    history: list[tuple[int, int, int, date]], sizes: list[int]
) -> None:
    """However reports fall into groups, an id counts once and a device's day has ten reports."""
    known: dict[bytes, bytes] = {}
    spent: dict[tuple[date, bytes], Spent] = {}
    counted: dict[int, tuple[int, date]] = {}
    budget: Counter[tuple[int, date]] = Counter()
    waiting = list(history)
    while waiting:
        size = sizes.pop() if sizes else 1
        group, waiting = waiting[:size], waiting[size:]
        batches = [hashed(screened(*sent)) for sent in group]
        decision = admit(batches, known, spent, date.min)
        for (device, id_, payload, day), (result,) in zip(group, decision.results, strict=True):
            if id_ in counted:
                same = counted[id_] == (payload, day)
                assert result.verdict is (Verdict.DUPLICATE if same else Verdict.REJECTED)
                assert same or result.reason is Reason.CONFLICTING_DUPLICATE
            elif budget[device, day] == 10:
                assert result.reason is Reason.BUDGET_EXCEEDED
            else:
                assert result.verdict is Verdict.ACCEPTED
                counted[id_] = (payload, day)
                budget[device, day] += 1
        known.update({id_: digest for id_, (_, digest) in decision.ids.items()})
        for key, added in decision.spend.items():
            before = spent.get(key, Spent())
            spent[key] = Spent(before.micro + added.micro, before.reports + added.reports)
            assert spent[key].micro <= added.cap
        counts = sum(len(payloads) for payloads in decision.payloads.values())
        assert counts == len(decision.ids)


def test_leaves_what_it_was_given() -> None:
    """Admission returns what to write and changes nothing that it read."""
    known: dict[bytes, bytes] = {}
    spent: dict[tuple[date, bytes], Spent] = {}
    decision = admit([hashed(screened(0, 0, 0, TODAY))], known, spent, date.min)
    assert decision.ids
    assert not known
    assert not spent
