"""A second client, written from docs/protocol.md and no code of ours: it must make the vectors.

Where the page is wrong or says too little, this client fails.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
import tomllib
import unicodedata
from collections.abc import Callable
from decimal import Decimal, getcontext
from typing import Any

import mmh3
import pytest
from tests.harness.devices import ROOT

# What Unicode 13.0 does not assign, of what the vectors hold.
UNASSIGNED = set("\U0001e08f\U000113c2\U000113b8\U0001fae0")
VECTORS = json.loads((ROOT / "docs" / "protocol-vectors.json").read_text("utf-8"))
METRICS = tomllib.loads(VECTORS["registry"], parse_float=Decimal)["metrics"]
MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
getcontext().prec = 60

Read = Callable[[int], bytes]


def halves(raw: bytes) -> tuple[int, int]:
    """Section 1."""
    digest = mmh3.mmh3_x64_128_digest(raw, 0)
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def mix(z: int) -> int:
    """Section 1."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def salted(metric: str, revision: int, cohort: int, number: int) -> int:
    """Section 1."""
    a, b = halves(metric.encode())
    key = mix(a ^ mix(b + revision * GAMMA & MASK))
    return mix(key + GAMMA * (cohort * 256 + number + 1) & MASK)


def position(raw: bytes, metric: str, cohort: int, number: int, size: int) -> int:
    """Section 1."""
    first, second = halves(raw)
    mixed = mix(mix(first ^ salted(metric, 1, cohort, number)) + second & MASK)
    return (mixed >> 32) * size >> 32


def prefixed(*parts: Any) -> bytes:
    """Section 2."""
    joined = b""
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        raw = raw.to_bytes(8, "little") if isinstance(raw, int) else raw
        joined += len(raw).to_bytes(4, "little") + raw
    return joined


def draw_vector(read: Read, count: int, mask: int, if_set: int, if_clear: int) -> int:
    """Section 3, bit by bit."""
    numerators = [if_set if mask >> i & 1 else if_clear for i in range(count)]
    drawn: list[int | None] = [1 if each == 1 << 64 else None for each in numerators]
    for digit in range(63, -1, -1):
        below = (1 << digit + 1) - 1
        if None not in drawn or not (if_set | if_clear) & below:
            break
        given = int.from_bytes(read((count + 7) // 8), "little")
        for i, numerator in enumerate(numerators):
            own, theirs = given >> i & 1, numerator >> digit & 1
            if drawn[i] is None and own != theirs:
                drawn[i] = 1 - own
    return sum((each or 0) << i for i, each in enumerate(drawn))


def draw_below(read: Read, n: int) -> int:
    """Section 3."""
    width = (n - 1).bit_length()
    while True:
        number = int.from_bytes(read((width + 7) // 8), "little") & ((1 << width) - 1)
        if number < n:
            return number


def draw_bernoulli(read: Read, numerator: int) -> int:
    """Section 3."""
    return draw_vector(read, 1, 1, numerator, 0)


def draw_unless(read: Read, keep: int, own: int, n: int) -> int:
    """Section 3."""
    kept, other = draw_bernoulli(read, keep), draw_below(read, n - 1)
    return own if kept else other + (other >= own)


def as_index(number: int, largest: int) -> bytes:
    """Section 4."""
    return number.to_bytes((largest.bit_length() + 7) // 8, "little")


def as_bits(vector: int, k: int) -> bytes:
    """Section 2."""
    return vector.to_bytes((k + 7) // 8, "little")


def down(probability: Decimal) -> int:
    """Round a probability down to a numerator."""
    return int(probability * (1 << 64))


def payload_of(vector: dict[str, Any], read: Read) -> bytes | None:
    """Section 4; None for what this client has not."""
    metric = METRICS[vector["metric"]]
    values = metric.get("values", ["false", "true"])
    k, value, cohort = len(values), vector["value"], vector["cohort"]
    e = Decimal(metric.get("epsilon", 0)).exp()
    raw = value.encode()
    own = values.index(value) if value in values else -1
    match metric["mechanism"]:
        case "binary":
            kept = draw_bernoulli(read, down(e / (e + 1)))
            return bytes([own if kept else 1 - own])
        case "krr":
            return as_index(draw_unless(read, down(e / (e + k - 1)), own, k), k - 1)
        case "sue":
            p = down(e.sqrt() / (e.sqrt() + 1))
            return as_bits(draw_vector(read, k, 1 << own, p, (1 << 64) - p), k)
        case "oue":
            q = down(1 / (e + 1)) + 1
            return as_bits(draw_vector(read, k, 1 << own, 1 << 63, q), k)
        case "local_hashing":
            g = max(2, int(e + Decimal("1.5")))
            cell = position(raw, vector["metric"], cohort, 0, g)
            return as_index(draw_unless(read, down(e / (e + g - 1)), cell, g), g - 1)
        case "hadamard":
            columns = 1 << k.bit_length()
            row, column = own + 1, draw_below(read, columns)
            kept = draw_bernoulli(read, down(e / (e + 1)))
            if ((row & column).bit_count() % 2 == 0) != bool(kept):
                column ^= row & -row
            return as_index(column, columns - 1)
        case "cms":
            m, keep = metric["columns"], down(e.sqrt() / (e.sqrt() + 1))
            column = position(raw, vector["metric"], cohort, 0, m)
            return as_bits(draw_vector(read, m, 1 << column, keep, (1 << 64) - keep), m)
        case "hcms":
            m, keep = metric["columns"], down(e / (e + 1))
            column = position(raw, vector["metric"], cohort, 0, m)
            row = draw_below(read, m)
            negative = (row & column).bit_count() % 2 ^ 1 - draw_bernoulli(read, keep)
            return as_index(2 * row + negative, 2 * m - 1)
        case "subset":
            return subset(metric, own, k, e, read)
        case "rappor" | "basic_rappor":
            return rappor(vector, metric, own, k, read)
    return None


def subset(metric: dict[str, Any], own: int, k: int, e: Decimal, read: Read) -> bytes:
    """Section 4; w from the payload's size is not given, so both are tried by the variance."""

    def variance(w: int) -> Decimal:
        p = w * e / (w * e + k - w)
        q = (p * (w - 1) + (1 - p) * w) / (k - 1)
        return (p * (1 - p) / k + (1 - Decimal(1) / k) * q * (1 - q)) / (p - q) ** 2

    least = int(k / (e + 1))
    w = min((w for w in (least, least + 1) if 1 <= w < k), key=variance)
    chosen: set[int] = set()
    for last in range(k - 1 - w, k - 1):
        drawn = draw_below(read, last + 1)
        chosen.add(last if drawn in chosen else drawn)
    kept = draw_bernoulli(read, down(w * e / (w * e + k - w)))
    leaving = draw_below(read, w)
    members = {i + (i >= own) for i in chosen}
    if kept:
        members.remove(sorted(members)[leaving])
        members.add(own)
    listed = b"".join(as_index(i, k - 1) for i in sorted(members))
    return listed if len(listed) < (k + 7) // 8 else as_bits(sum(1 << i for i in members), k)


def rappor(vector: dict[str, Any], metric: dict[str, Any], own: int, k: int, read: Read) -> bytes:
    """Section 5."""
    bits = metric.get("bits", k)
    p, q = (down(Decimal(metric[name])) for name in ("p", "q"))
    if "permanent" in vector:
        mask = int.from_bytes(bytes.fromhex(vector["permanent"]), "little")
    else:
        raw, name = vector["value"].encode(), vector["metric"]
        places = [position(raw, name, vector["cohort"], n, bits) for n in range(metric["hashes"])]
        mask = sum(1 << place for place in set(places))
    return as_bits(draw_vector(read, bits, mask, q, p), bits)


def test_text_and_hashes_are_made_from_the_page() -> None:
    """Sections 1 and 2."""
    for each in VECTORS["text"]:
        text = each["text"]
        later = set(text) & UNASSIGNED
        raw = (text if later else unicodedata.normalize("NFC", text)).encode()
        assert raw.hex() == each["utf8"]
        assert [f"{half:016x}" for half in halves(raw)] == [each["first"], each["second"]]
    for each in VECTORS["keys"]:
        for known in each["salts"]:
            salt = salted(each["metric"], each["revision"], known["cohort"], known["number"])
            assert f"{salt:016x}" == known["salt"]
    for each in VECTORS["positions"]:
        raw = bytes.fromhex(each["utf8"])
        found = [
            position(raw, each["metric"], each["cohort"], number, each["size"])
            for number in range(each["hashes"])
        ]
        assert found == each["positions"]
    for each in VECTORS["bits"]:
        assert as_bits(1 << each["set"][0], each["bits"]).hex() == each["payload"]
    for each in VECTORS["length_prefixed"]:
        parts = [
            bytes.fromhex(part) if kind == "bytes" else part
            for part, kind in zip(each["parts"], each["kinds"], strict=True)
        ]
        assert prefixed(*parts).hex() == each["joined"]


def test_draws_are_made_from_the_page() -> None:
    """Section 3, with exactly the bytes that are given."""
    for each in VECTORS["draws"]:
        stream = io.BytesIO(bytes.fromhex(each["random"]))
        found: object
        if each["draw"] == "bernoulli":
            found = draw_bernoulli(stream.read, int(each["numerator"], 16))
        elif each["draw"] == "below":
            found = draw_below(stream.read, each["n"])
        else:
            mask = int.from_bytes(bytes.fromhex(each["mask"]), "little")
            numerators = int(each["if_set"], 16), int(each["if_clear"], 16)
            drawn = draw_vector(stream.read, each["count"], mask, *numerators)
            found = as_bits(drawn, each["count"]).hex()
        assert found == each["result"]
        assert stream.read() == b""


@pytest.mark.parametrize("vector", VECTORS["payloads"], ids=lambda v: f"{v['metric']} {v['value']}")
def test_payloads_are_made_from_the_page(vector: dict[str, Any]) -> None:
    """Section 4: every mechanism but the one that the page leaves to its code."""
    stream = io.BytesIO(bytes.fromhex(vector["random"]))
    payload = payload_of(vector, stream.read)
    if payload is None:
        assert METRICS[vector["metric"]]["mechanism"] == "pgr"
        return
    assert payload.hex() == vector["payload"]
    assert stream.read() == b""


def test_permanent_answers_are_made_from_the_page() -> None:
    """Section 5, for Rumor's own streams."""
    for each in VECTORS["permanent"]:
        metric = METRICS[each["metric"]]
        if "hashing" in metric:
            continue
        raw = unicodedata.normalize("NFC", each["value"]).encode()
        values = metric.get("values")
        bits = len(values) if values else metric["bits"]
        places = (
            [values.index(each["value"])]
            if values
            else [
                position(raw, each["metric"], each["cohort"], n, bits)
                for n in range(metric["hashes"])
            ]
        )
        secret = bytes.fromhex(each["secret"])
        label = "rumor/permanent/1"
        message = prefixed(label, secret, each["metric"], metric["revision"], each["cohort"], raw)
        stream = io.BytesIO(hashlib.shake_256(message).digest(4096))
        half_f = down(Decimal(metric["f"]) / 2)
        mask = sum(1 << place for place in set(places))
        answer = draw_vector(stream.read, bits, mask, (1 << 64) - half_f, half_f)
        assert as_bits(answer, bits).hex() == each["answer"]


def test_names_and_bodies_are_made_from_the_page() -> None:
    """Sections 7 and 8."""
    for each in VECTORS["pseudonyms"]:
        message = b"rumor/pseudonym/1\x00" + each["day"].encode()
        name = hmac.digest(bytes.fromhex(each["secret"]), message, "sha256")[:16]
        assert name.hex() == each["pseudonym"]
    for each in VECTORS["bodies"]:
        text = {
            name: base64.b64encode(bytes.fromhex(name)).decode()
            for report in each["reports"]
            for name in (report["id"], report["payload"], each["pseudonym"])
        }
        listed = each["path"].rpartition("/")[2]
        body = json.loads(each["body"])
        assert body.pop("sdk").startswith("rumor-python/")
        assert body == {
            "day": each["day"],
            "pseudonym": text[each["pseudonym"]],
            listed: [
                {**report, "id": text[report["id"]], "payload": text[report["payload"]]}
                for report in sorted(each["reports"], key=lambda report: report["id"])
            ],
        }
