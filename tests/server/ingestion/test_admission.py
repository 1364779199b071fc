"""Admission as a function: random histories against a model that is too simple to be wrong."""

from collections import Counter
from datetime import date

from hypothesis import given
from hypothesis import strategies as st
from tests.harness.collector import TODAY, days_ago, registry

from rumor_server.ingestion.admission import HashedBatch, admit, label
from rumor_server.ingestion.batch import Batch, Report
from rumor_server.ingestion.screening import Charges, ScreenedBatch, screen_batch
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
    ids = [one.id for one in batch.reports]
    digests = [one.id + one.payload + batch.day.isoformat().encode() for one in batch.reports]
    charged = {account for charge in batch.charges for account, _ in charge.accounts}
    accounts = {account: batch.pseudonym + label(account).encode() for account in charged}
    return HashedBatch(batch, ids, digests, accounts)


@given(st.lists(SENT, max_size=80), st.lists(st.integers(1, 8), max_size=80))
def test_decides_any_history_as_a_simple_model_does(
    history: list[tuple[int, int, int, date]], sizes: list[int]
) -> None:
    """However reports fall into groups, an id counts once and a device's day has ten reports."""
    known: dict[bytes, bytes] = {}
    spent: dict[tuple[date, bytes], int] = {}
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
            assert added.before == spent.get(key, 0)
            spent[key] = added.before + added.micro
            assert spent[key] <= added.cap
        counts = sum(len(payloads) for payloads in decision.payloads.values())
        assert counts == len(decision.ids)


def test_leaves_what_it_was_given() -> None:
    """Admission returns what to write and changes nothing that it read."""
    known: dict[bytes, bytes] = {}
    spent: dict[tuple[date, bytes], int] = {}
    decision = admit([hashed(screened(0, 0, 0, TODAY))], known, spent, date.min)
    assert decision.ids
    assert not known
    assert not spent


ONE = st.tuples(st.integers(0, 40), st.sampled_from(["theme", "page", "old"]), st.integers(0, 2))


@given(st.lists(st.tuples(st.integers(0, 1), st.lists(ONE, max_size=14)), max_size=6))
def test_decides_a_batch_as_its_reports_alone(
    batches: list[tuple[int, list[tuple[int, str, int]]]],
) -> None:
    """However a batch is decided, at once or one by one, each report hears what it would alone."""
    sizes = {"theme": 1, "page": 2, "old": 1}
    revisions = {"theme": 1, "page": 3, "old": 1}

    def sent(device: int, reports: list[tuple[int, str, int]]) -> HashedBatch:
        made = [
            Report(
                bytes([id_] * 16), metric, revisions[metric], 0, bytes([payload] * sizes[metric])
            )
            for id_, metric, payload in reports
        ]
        batch = Batch("test/1", TODAY.isoformat(), bytes([device] * 16), made)
        screened = screen_batch(batch, CHARGES, TODAY, REGISTRY.max_age_days)
        return hashed(screened)

    known = {bytes([7] * 16): b"another"}
    together = admit([sent(*one) for one in batches], known, {}, date.min)
    alone = admit(
        [sent(device, [one]) for device, many in batches for one in many], known, {}, date.min
    )
    assert [one for many in together.results for one in many] == [one for (one,) in alone.results]
    assert together.ids == alone.ids
    assert together.payloads == alone.payloads
    assert {key: one for key, one in together.spend.items() if one.micro} == {
        key: one for key, one in alone.spend.items() if one.micro
    }
