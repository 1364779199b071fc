"""Decoding a batch: strict, and silent about what was sent."""

import contextlib
import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.harness.collector import batch, compact, report

from rumor_server.errors import BadRequest
from rumor_server.http.problem import status_of
from rumor_server.ingestion.batch import Batch, decode_batch
from rumor_shared.wire import JSON, MSGPACK

GOOD = batch(report(id_=bytes(16)), pseudonym=bytes(16))
SECRET = "SECRET123"


def refusal(body: bytes, kind: str = JSON) -> BadRequest:
    """The refusal of a body, which repeats nothing secret."""
    with pytest.raises(BadRequest) as caught:
        decode_batch(body, kind)
    assert SECRET not in caught.value.detail
    return caught.value


def test_reads_what_a_client_writes() -> None:
    """The compact form and a spaced, reordered one are the same batch."""
    spaced = json.dumps(dict(reversed(GOOD.items())), indent=2).encode()
    assert decode_batch(compact(GOOD), JSON) == decode_batch(spaced, JSON)


def test_reads_messagepack() -> None:
    """MessagePack carries the same structure, with bytes as they are."""
    expected = decode_batch(compact(GOOD), JSON)
    assert decode_batch(msgspec.msgpack.encode(expected), MSGPACK) == expected


FIELDS: list[tuple[Any, ...]] = [("sdk",), ("day",), ("pseudonym",), ("reports",)]
FIELDS += [("reports", 0, name) for name in ("id", "metric", "revision", "cohort", "payload")]


def with_raw(path: tuple[Any, ...], raw: str) -> bytes:
    """The good batch with one value replaced by raw JSON text."""
    document = json.loads(json.dumps(GOOD))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = "@@"
    return json.dumps(document).replace('"@@"', raw).encode("utf-8", "surrogatepass")


RAW = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-0",
    "-0.0",
    "1.0",
    "1.5",
    "true",
    "null",
    "9" * 5000,
]
RAW += ["[NaN]", '{"a": NaN}', "[" * 20_000, '{"a":' * 20_000, '"\\ud800"', '"\ud800"', "-1", "@"]


@pytest.mark.parametrize("path", FIELDS, ids=lambda path: str(path[-1]))
@pytest.mark.parametrize("raw", RAW, ids=lambda raw: ascii(raw)[:12])
def test_refuses_a_value_of_another_kind(path: tuple[Any, ...], raw: str) -> None:
    """SV-01, EN-01: NaN, floats, huge integers, lone surrogates, deep nesting: 400 anywhere."""
    assert status_of(refusal(with_raw(path, raw))) == 400


@pytest.mark.parametrize("path", FIELDS, ids=lambda path: str(path[-1]))
def test_requires_every_field(path: tuple[Any, ...]) -> None:
    """A missing field is named."""
    document = json.loads(json.dumps(GOOD))
    place = document if len(path) == 1 else document["reports"][0]
    del place[path[-1]]
    assert f"`{path[-1]}`" in refusal(compact(document)).detail


@pytest.mark.parametrize("place", ["envelope", "report"])
def test_refuses_an_unknown_field_without_naming_it(place: str) -> None:
    """SV-02: neither the name nor the value of an unknown field comes back."""
    document = json.loads(json.dumps(GOOD))
    (document if place == "envelope" else document["reports"][0])[SECRET] = SECRET
    assert "a field that the schema does not have" in refusal(compact(document)).detail


@pytest.mark.parametrize("key", ["sdk", "day", "reports", "id", "revision", "payload"])
def test_refuses_a_repeated_key(key: str) -> None:
    """A key given twice is refused even if both values agree, or one is spelt with escapes."""
    body = compact(GOOD)
    member = re.search(rb'"%s":(\[.*\]|"[^"]*"|\d+)' % key.encode(), body)
    assert member is not None
    for again in (member[0], b'"\\u00%02x' % ord(key[0]) + member[0][2:]):
        repeated = body.replace(member[0], member[0] + b"," + again)
        assert refusal(repeated).detail.endswith("a key is repeated")


def test_refuses_a_repeated_key_in_messagepack() -> None:
    """The same in MessagePack, where the map's count would allow it."""
    body = msgspec.msgpack.encode(decode_batch(compact(GOOD), JSON))
    assert body[0] == 0x84
    repeated = b"\x85" + body[1:] + msgspec.msgpack.encode("sdk") + msgspec.msgpack.encode("test/1")
    assert "a key is repeated" in refusal(repeated, MSGPACK).detail


BASE64 = ["AQ=", "AQ", "A", "AR==", "_w==", "AQ==AQ==", "A Q=", "AQ==\\n", "=", "AQ==="]


@pytest.mark.parametrize("text", BASE64)
def test_refuses_base64_in_any_form_but_one(text: str) -> None:
    """Padding, alphabet and stray bits: a payload has one spelling."""
    detail = refusal(with_raw(("reports", 0, "payload"), f'"{text}"')).detail
    assert detail.endswith("reports[0].payload: Invalid base64 encoded string")


@pytest.mark.parametrize(
    "day", ["2026-02-30", "0000-01-01", "2026-1-1", "20261130", "2026-11-30T00:00", "٢٠٢٦-١١-٣٠"]
)
def test_refuses_what_is_no_day(day: str) -> None:
    """A day is a UTC date that a calendar has, as YYYY-MM-DD."""
    with pytest.raises(BadRequest, match="day"):
        _ = decode_batch(compact(GOOD | {"day": day}), JSON).date


def test_refuses_more_reports_than_a_batch_holds() -> None:
    """501 reports are 413, so that the client splits; 500 are a batch."""
    assert len(decode_batch(compact(batch(*[report()] * 500)), JSON).reports) == 500
    assert status_of(refusal(compact(batch(*[report()] * 501)))) == 413


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.binary() | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
@example(b"\x84" * 50_000)
@example(b"\x91" * 50_000)
@example(b"\xdd\xff\xff\xff\xff")
def test_refuses_anything_else_calmly(body: bytes) -> None:
    """Whatever the bytes, the answer is 400 and no other exception."""
    for kind in (JSON, MSGPACK):
        assert status_of(refusal(body, kind)) == 400


@given(st.data())
def test_reads_or_refuses_a_damaged_batch(data: st.DataObject) -> None:
    """One damaged byte gives a batch that would be written just so, or 400."""
    body = bytearray(compact(GOOD))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(BadRequest):
        assert isinstance(decode_batch(bytes(body), JSON), Batch)
