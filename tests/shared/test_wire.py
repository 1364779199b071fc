"""What travels has one form: days, length prefixes, pseudonyms."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumor_shared.days import parse_day, utc_day
from rumor_shared.wire import length_prefixed, pseudonym

PARTS = st.lists(st.one_of(st.binary(max_size=5), st.text("ab", max_size=3)), max_size=4)


@given(PARTS, PARTS)
def test_length_prefix_is_injective(one: list[bytes | str], other: list[bytes | str]) -> None:
    """Two lists of parts give the same bytes only if their parts' bytes are the same."""

    def raw(parts: list[bytes | str]) -> list[bytes]:
        return [p.encode() if isinstance(p, str) else p for p in parts]

    assert (length_prefixed(*one) == length_prefixed(*other)) == (raw(one) == raw(other))


def test_length_prefix_layout() -> None:
    """Four bytes of length, little-endian, then the part; an integer is eight bytes."""
    assert length_prefixed("ab", 3) == b"\x02\0\0\0ab\x08\0\0\0\x03\0\0\0\0\0\0\0"


def test_pseudonym_is_hmac_of_the_day() -> None:
    """A pseudonym is HMAC-SHA256(secret, label, 0, day), cut to 16 bytes, new each day."""
    day = date(2026, 11, 30)
    expected = hmac.new(b"k" * 32, b"rumor/pseudonym/1\x002026-11-30", hashlib.sha256).digest()
    assert pseudonym(b"k" * 32, day) == expected[:16]
    assert pseudonym(b"k" * 32, day + timedelta(days=1)) != expected[:16]


@pytest.mark.parametrize("hours", [14, 5.5, -11, 0])
def test_a_day_is_the_utc_date(hours: float) -> None:
    """Whatever the local offset, midnight UTC separates two days (TI-01)."""
    zone = timezone(timedelta(hours=hours))
    before = datetime(2026, 11, 30, 23, 59, 59, 999_999, tzinfo=UTC).astimezone(zone)
    after = datetime(2026, 12, 1, tzinfo=UTC).astimezone(zone)
    assert (utc_day(before), utc_day(after)) == (date(2026, 11, 30), date(2026, 12, 1))


def test_naive_moment_is_refused() -> None:
    """A moment without an offset has no UTC day."""
    with pytest.raises(ValueError, match="aware"):
        utc_day(datetime(2026, 11, 30))  # noqa: DTZ001 - the fault under test


@pytest.mark.parametrize(
    "label", ["2026-1-1", "20261130", "2026-W01-1", "2026-11-31", "2026-11-30T00", "", "0000-01-01"]
)
def test_other_spellings_of_a_day_are_refused(label: str) -> None:
    """A day is written YYYY-MM-DD and no other way."""
    with pytest.raises(ValueError, match=r".+"):
        parse_day(label)
