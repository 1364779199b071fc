"""From value to answer: cohorts, permanent answers, and the memo that only counts."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.devices import KRR, RAPPOR, device, registry_with

from rumor_client import MemoryState
from rumor_client.perturbation.mechanisms.table import memoised_perturber
from rumor_client.perturbation.perturb import perturb, series_of
from rumor_client.perturbation.randomness import Randomness, permanent_randomness, system_randomness
from rumor_client.state.protocol import Identity, State
from rumor_shared.metric import Metric
from rumor_shared.registry import Registry
from rumor_shared.wire import length_prefixed

IDENTITY = Identity(bytes(range(32)), 0b1011_0101, 1)
# q = 1 and p = 0: the instantaneous answer is the permanent one, so that a test can see it.
CLEAR = {**RAPPOR, "p": 0, "q": 1, "f": 0.5}


def browser(**fields: Any) -> Metric:
    """Return a RAPPOR metric."""
    return registry_with({"browser": {**CLEAR, **fields}}, daily_epsilon=1000).metric("browser")


def answering(
    metric: Metric, state: State, identity: Identity = IDENTITY
) -> Callable[[str], bytes]:
    """Return what answers with the payload to a value."""

    def answer(text: str) -> bytes:
        with state.transaction() as transaction:
            return perturb(metric, text, identity, transaction, system_randomness()).payload

    return answer


def test_a_permanent_answer_is_the_same_for_ever() -> None:
    """One value gives one permanent answer, in any state, from secret and value alone."""
    metric = browser()
    expected = memoised_perturber(metric).permanent(
        "x", 5, permanent_randomness(IDENTITY.secret, "browser", 1, 5, b"x")
    )
    for _ in range(2):
        answer = answering(metric, MemoryState())
        assert [answer("x") for _ in range(3)] == [expected] * 3


def test_beyond_max_values_the_slot_filled_last_answers() -> None:
    """The third value of two gets the second's permanent answer; known ones keep their own."""
    answer = answering(browser(max_values=2), MemoryState())
    first, second = answer("a"), answer("b")
    assert first != second
    assert [answer(text) for text in "cabd"] == [second, first, second, second]


def test_the_memo_holds_keyed_tags_and_one_permanent_answer() -> None:
    """A tag is HMAC-SHA256 under the secret over what it stands for, cut to 16 bytes."""
    state, metric = MemoryState(), browser(max_values=2)
    answering(metric, state)("x")
    message = length_prefixed("rumor/memo/1", "browser", 1, 8, "x")
    expected = hmac.digest(IDENTITY.secret, message, hashlib.sha256)[:16]
    assert list(state.contents.slots(series_of(metric, IDENTITY))) == [expected]


@pytest.mark.parametrize(
    "fields",
    [
        {"mechanism": "binary", "epsilon": 1, "values": ["a", "b"]},
        {"mechanism": "krr", "epsilon": 1, "values": ["a", "b", "c"]},
        {"mechanism": "sue", "epsilon": 1, "values": ["a", "b", "c"]},
        {"mechanism": "oue", "epsilon": 1, "values": ["a", "b", "c"]},
        {"mechanism": "basic_rappor", "f": 0.5, "p": 0.25, "q": 0.75, "values": ["a", "b", "c"]},
        {"mechanism": "basic_rappor", "f": 0, "p": 0.25, "q": 0.75, "values": ["a", "b", "c"]},
        RAPPOR,
        {**RAPPOR, "f": 0},
    ],
    ids=lambda fields: f"{fields['mechanism']}, f = {fields.get('f')}",
)
def test_each_mechanism_records_what_it_could_have_made(fields: dict[str, Any]) -> None:
    """Payload and cohort of every mechanism pass the check that the collector makes."""
    registry = registry_with({"metric": {**fields, "daily_epsilon": 1000}})
    mechanism = registry.metric("metric").mechanism
    client = device(registry)
    for value in "abab":
        assert client.record("metric", value).recorded
    for _, report in client.waiting():
        mechanism.check_payload(report.payload)
        mechanism.check_cohort(report.cohort)


def test_a_kept_cohort_takes_the_low_bits_of_one_byte() -> None:
    """All memoised metrics of a device share one byte."""
    for cohorts in (1, 2, 8, 256):
        metric = browser(cohorts=cohorts)
        with MemoryState().transaction() as transaction:
            answer = perturb(metric, "x", IDENTITY, transaction, system_randomness())
        assert answer.cohort == IDENTITY.cohort % cohorts


def test_without_memory_each_report_draws_its_cohort() -> None:
    """With f = 0 a report's cohort is fresh: over 200 reports all eight appear (1e-10)."""
    client = device(registry_with({"browser": {**RAPPOR, "f": 0}}, daily_epsilon=5000))
    for _ in range(200):
        client.record("browser", "x")
    assert {item.report.cohort for item in client.waiting()} == set(range(8))
    with client.state.transaction() as transaction:
        identity = transaction.identity()
        assert identity is not None
        metric = client.registry.metric("browser")
        assert list(transaction.slots(series_of(metric, identity))) == []


def test_a_kept_cohort_stays_over_restarts_and_goes_with_the_secret(tmp_path: Path) -> None:
    """Cohort and permanent answers stay as long as the secret does."""
    registry = registry_with({"browser": CLEAR}, daily_epsilon=5000)
    seen: list[set[tuple[int, bytes]]] = []
    for _ in range(6):
        for _ in range(2):
            client = device(registry, state=tmp_path / "state")
            client.record("browser", "x")
            client.close()
        again = device(registry, state=tmp_path / "state")
        seen.append({(item.report.cohort, item.report.payload) for item in again.waiting()})
        again.consent.deny()
        again.close()
    assert all(len(answers) == 1 for answers in seen)
    # Six devices with the same answer of 32 bits, f = .5: less than 1e-9.
    assert len({answer for answers in seen for answer in answers}) > 1


def counting(registry: Registry, value: str) -> list[int]:
    """Return the sizes of all reads of randomness that recording a value takes."""
    sizes: list[int] = []

    def read(size: int) -> bytes:
        sizes.append(size)
        return bytes(size)

    client = device(registry, randomness=lambda: Randomness(read))
    assert client.record("theme", value).recorded
    return sizes


def test_the_id_is_drawn_after_the_perturbation() -> None:
    """Secret, cohort, answer, id: the id is the last thing drawn."""
    sizes = counting(registry_with({"theme": KRR}), "dark")
    assert sizes[0] == 32
    assert sizes[1] == 1
    assert sizes[-1] == 16
    assert 16 not in sizes[:-1]
