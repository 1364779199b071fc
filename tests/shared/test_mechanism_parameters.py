"""The parameters of each mechanism against published values and against what was asked."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from rumor_shared.errors import MalformedPayload, UnknownMechanism
from rumor_shared.mechanism import Mechanism
from rumor_shared.mechanisms.table import mechanism_class
from rumor_shared.registry import registry_of


def mechanism(name: str, **fields: Any) -> Mechanism:
    """Return one mechanism made through the registry."""
    base = {"revision": 1, "owner": "o", "purpose": "p", "expires": date(2030, 1, 1)}
    table = {**base, "mechanism": name, **fields}
    return registry_of({"metrics": {"m": table}}).metric("m").mechanism


@pytest.mark.parametrize(
    ("f", "infinity", "first"),
    [("0.5", 4_394_450, 1_074_286), ("0.75", 2_043_303, 534_276)],
)
def test_published_rappor_epsilons(f: str, infinity: int, first: int) -> None:
    """RAPPOR's own settings p = .5, q = .75, h = 2 give the published figures (Y11)."""
    m = mechanism("rappor", bits=128, hashes=2, f=Decimal(f), p=Decimal("0.5"), q=Decimal("0.75"))
    assert (m.epsilon_infinity, m.epsilon_report) == (infinity, first)


@pytest.mark.parametrize("infinity", ["0.5", "2", "4", "16"])
@pytest.mark.parametrize("share", ["0.1", "0.5", "0.99"])
@pytest.mark.parametrize("hashes", [1, 2, 4])
def test_rappor_target_is_met(infinity: str, share: str, hashes: int) -> None:
    """A target is solved for to the micro-epsilon, and never passed."""
    first = (Decimal(infinity) * Decimal(share)).quantize(Decimal("0.000001"))
    m = mechanism(
        "rappor",
        bits=64,
        hashes=hashes,
        epsilon_infinity=Decimal(infinity),
        epsilon_first_report=first,
    )
    assert m.epsilon_infinity == int(Decimal(infinity) * 10**6)
    assert m.epsilon_report == int(first * 10**6)


@pytest.mark.parametrize("name", ["binary", "krr", "sue", "oue"])
@pytest.mark.parametrize("epsilon", ["0.001", "0.5", "1", "1.386294", "8", "16"])
def test_epsilon_asked_is_epsilon_charged(name: str, epsilon: str) -> None:
    """A closed-domain mechanism charges the epsilon that was asked, to the micro-epsilon."""
    values = {"binary": ["a", "b"]}.get(name, [str(i) for i in range(10)])
    m = mechanism(name, epsilon=Decimal(epsilon), values=values)
    assert m.epsilon_report == int(Decimal(epsilon) * 10**6)


def test_no_memory_without_f() -> None:
    """RAPPOR with f = 0 has nothing permanent: its life is the sum of its reports."""
    m = mechanism("rappor", bits=128, f=0, p=Decimal("0.25"), q=Decimal("0.75"))
    assert not m.memoised
    assert m.epsilon_infinity is None
    assert m.epsilon_life(5) == 5 * m.epsilon_report


def test_life_of_a_memoised_metric_is_bounded() -> None:
    """A life costs epsilon_infinity for each of the first `max_values` reports, then nothing."""
    m = mechanism("rappor", bits=128, epsilon_infinity=4, epsilon_first_report=1, max_values=3)
    assert [m.epsilon_life(t) for t in (0, 1, 2, 3, 4, 365)] == [
        0, 4_000_000, 8_000_000, 12_000_000, 12_000_000, 12_000_000,
    ]  # fmt: skip


@pytest.mark.parametrize("payload", [b"", b"\x02", b"\x00\x00", b"\xff"])
def test_binary_refuses_what_it_cannot_send(payload: bytes) -> None:
    """Binary takes one byte of 0 or 1."""
    with pytest.raises(MalformedPayload):
        mechanism("binary", epsilon=1).check_payload(payload)


def test_krr_refuses_an_index_outside_the_domain() -> None:
    """An index at or beyond k is no answer."""
    m = mechanism("krr", epsilon=1, values=[str(i) for i in range(300)])
    m.check_payload((299).to_bytes(2, "little"))
    with pytest.raises(MalformedPayload, match="0 to 299"):
        m.check_payload((300).to_bytes(2, "little"))


@pytest.mark.parametrize("cohort", [-1, 64])
def test_cohort_outside_the_count_is_refused(cohort: int) -> None:
    """A cohort the metric doesn't have is malformed; so is any but 0 where there are none."""
    with pytest.raises(MalformedPayload, match="0 to 63"):
        mechanism("rappor", bits=8, epsilon_infinity=4, epsilon_first_report=1).check_cohort(cohort)
    with pytest.raises(MalformedPayload, match="0 to 0"):
        mechanism("binary", epsilon=1).check_cohort(1)


@pytest.mark.parametrize("name", ["nope", "krr.x", "__init__", "os", "Krr", ""])
def test_unknown_mechanism(name: str) -> None:
    """A name that is no mechanism's is refused: nothing is imported by it."""
    with pytest.raises(UnknownMechanism):
        mechanism_class(name)


def test_two_names_one_class() -> None:
    """sue and oue share a class, as do rappor and basic_rappor."""
    assert mechanism_class("sue") is mechanism_class("oue")
    assert mechanism_class("basic_rappor") is mechanism_class("rappor")
