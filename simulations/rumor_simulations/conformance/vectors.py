"""Vectors: what a correct client computes, from given values, secrets and random bytes.

Bytes are hexadecimal unless a field says otherwise, 64-bit integers too, since JSON has no room
for them. Random bytes are what the stream would give, in order; `random` holds exactly those that
are read.
"""

from __future__ import annotations

import hashlib
from datetime import date
from typing import Any

from rumor_client.perturbation.mechanisms.table import memoised_perturber, perturber
from rumor_client.perturbation.randomness import Randomness, permanent_randomness
from rumor_client.state.report import Report
from rumor_client.upload.encoding import RETRACTIONS, encode_batch
from rumor_shared import rappor_md5
from rumor_shared.bits import encode_bits
from rumor_shared.hashing import hash_bytes, metric_key, positions, salt
from rumor_shared.probability import HALF, ONE
from rumor_shared.rappor_md5 import RapporClient
from rumor_shared.wire import length_prefixed, pseudonym
from rumor_simulations.conformance.registry import registry, registry_text

SECRET = bytes(range(32))
# An é in two code points (it is composed), two beyond the basic plane (no surrogate is hashed),
# 4096 bytes, and tails of 9 and 15 bytes with the high bit set behind 0 and 1 blocks. The last ones
# hold what Unicode 13.0 doesn't assign: they are taken as they are, accents too.
TEXTS = (
    *("", "a", "chrome", "E\u0301cole", "\U0001f4a9", "\U0001f680", "x" * 4096),
    *("\u00e9" * 4 + "a", "\u00e9" * 7 + "a", "\u00e9" * 15 + "a"),
    *("a\U0001e08f\u0323", "\U000113c2\U000113b8", "e\u0301\U0001fae0"),
)


def vectors() -> dict[str, Any]:
    """Return every vector, in the shape that docs/protocol.md describes."""
    return {
        "registry": registry_text(),
        "text": _texts(),
        "keys": _keys(),
        "positions": _positions(),
        "rappor_md5": _rappor_md5(),
        "bits": _bits(),
        "length_prefixed": _length_prefixed(),
        "draws": _draws(),
        "permanent": _permanent(),
        "payloads": _payloads(),
        "pseudonyms": _pseudonyms(),
        "bodies": _bodies(),
    }


class _Stream:
    """A stream that is named by a vector, and keeps what was read of it."""

    def __init__(self, name: str) -> None:
        self._digest = hashlib.shake_256(f"rumor/vectors/{name}".encode()).digest(1 << 14)
        self._at = 0

    def __call__(self, size: int) -> bytes:
        self._at += size
        return self._digest[self._at - size : self._at]

    @property
    def read(self) -> str:
        """What was read, in hexadecimal."""
        return self._digest[: self._at].hex()


def _word(number: int) -> str:
    return f"{number:016x}"


def _texts() -> list[dict[str, Any]]:
    found = []
    for text in TEXTS:
        raw = registry().metric("word").text_of(text).encode()
        first, second = hash_bytes(raw)
        found.append(
            {"text": text, "utf8": raw.hex(), "first": _word(first), "second": _word(second)}
        )
    return found


def _keys() -> list[dict[str, Any]]:
    names = (("homepage", 1), ("homepage", 2), ("word", 1), ("a.b-c_d", 2**31 - 1))
    return [
        {
            "metric": name,
            "revision": revision,
            "key": _word(metric_key(name, revision)),
            "salts": [
                {"cohort": c, "number": n, "salt": _word(salt(metric_key(name, revision), c, n))}
                for c, n in ((0, 0), (0, 1), (63, 1))
            ],
        }
        for name, revision in names
    ]


def _positions() -> list[dict[str, Any]]:
    return [
        {
            "utf8": text.encode().hex(),
            "metric": "homepage",
            "revision": 1,
            "cohort": cohort,
            "hashes": 2,
            "size": size,
            "positions": list(
                positions(hash_bytes(text.encode()), metric_key("homepage", 1), cohort, 2, size)
            ),
        }
        for text in ("", "chrome", "\U0001f4a9")
        for cohort in (0, 17, 63)
        for size in (3, 128, 1 << 22)
    ]


def _rappor_md5() -> list[dict[str, Any]]:
    return [
        {
            "utf8": b"chrome".hex(),
            "client": client.value,
            "cohort": cohort,
            "hashes": 2,
            "bits": bits,
            "positions": list(rappor_md5.bloom_bits(b"chrome", cohort, 2, bits, client)),
        }
        for client, bits in (
            (RapporClient.EXACT, 128),
            (RapporClient.PYTHON, 128),
            (RapporClient.CPP, 128),
            (RapporClient.CPP, 1024),
            (RapporClient.JAVA, 1024),
        )
        for cohort in (0, 63)
    ]


def _bits() -> list[dict[str, Any]]:
    return [
        {"bits": k, "set": [bit], "payload": encode_bits(1 << bit, k).hex()}
        for k in (1, 7, 8, 9, 11, 16, 17)
        for bit in sorted({0, k // 2, k - 1})
    ]


def _length_prefixed() -> list[dict[str, Any]]:
    parts: list[tuple[bytes | str | int, ...]] = [
        ("ab", "c"),
        ("a", "bc"),
        ("rumor/permanent/1", SECRET, "homepage", 1, 17, b"chrome"),
    ]
    return [
        {
            "parts": [part.hex() if isinstance(part, bytes) else part for part in each],
            "kinds": [type(part).__name__ for part in each],
            "joined": length_prefixed(*each).hex(),
        }
        for each in parts
    ]


def _draws() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, numerator in enumerate((0, 1, HALF - 1, HALF, ONE * 3 // 4, ONE - 1, ONE)):
        stream = _Stream(f"bernoulli {number}")
        drawn = Randomness(stream).bernoulli(numerator)
        # 2**64 itself has 17 digits.
        found.append(
            {
                "draw": "bernoulli",
                "numerator": f"{numerator:017x}",
                "random": stream.read,
                "result": int(drawn),
            }
        )
    for n in (1, 2, 3, 256, 257, 65537):
        stream = _Stream(f"below {n}")
        below = Randomness(stream).below(n)
        found.append({"draw": "below", "n": n, "random": stream.read, "result": below})
    for count, mask in ((11, 0b101), (32, 0xFFFF), (128, 1 << 100 | 1)):
        stream = _Stream(f"bits {count}")
        vector = Randomness(stream).bits(count, mask, ONE * 3 // 4, ONE // 3)
        found.append(
            {
                "draw": "bits",
                "count": count,
                "mask": encode_bits(mask, count).hex(),
                "if_set": f"{ONE * 3 // 4:017x}",
                "if_clear": f"{ONE // 3:017x}",
                "random": stream.read,
                "result": encode_bits(vector, count).hex(),
            }
        )
    return found


def _permanent() -> list[dict[str, Any]]:
    found = []
    for name, cohort, texts in (
        ("homepage", 17, ("chrome", "E\u0301cole")),
        ("old-homepage", 5, ("chrome",)),
        ("kept-colour", 0, ("red", "blue")),
    ):
        metric = registry().metric(name)
        part = memoised_perturber(metric)
        for given in texts:
            text = metric.text_of(given)
            value = text.encode()
            stream = permanent_randomness(SECRET, name, metric.revision, cohort, value)
            found.append(
                {
                    "metric": name,
                    "secret": SECRET.hex(),
                    "cohort": cohort,
                    "value": given,
                    "answer": part.permanent(text, cohort, stream).hex(),
                }
            )
    return found


def _payloads() -> list[dict[str, Any]]:
    found = []
    for name, metric in registry().metrics.items():
        mechanism = metric.mechanism
        values = mechanism.values or ("", "chrome")
        for value in (values[0], values[-1]):
            cohort = mechanism.cohorts - 1
            stream = _Stream(f"{name} {value}")
            vector: dict[str, Any] = {"metric": name, "value": value, "cohort": cohort}
            if mechanism.memoised:
                drawn = permanent_randomness(SECRET, name, 1, cohort, value.encode())
                part = memoised_perturber(metric)
                permanent = part.permanent(value, cohort, drawn)
                payload = part.instantaneous(permanent, Randomness(stream))
                vector |= {"secret": SECRET.hex(), "permanent": permanent.hex()}
            else:
                payload = perturber(metric).perturb(value, cohort, Randomness(stream))
            mechanism.check_payload(payload)
            found.append({**vector, "random": stream.read, "payload": payload.hex()})
    return found


def _pseudonyms() -> list[dict[str, Any]]:
    return [
        {
            "secret": secret.hex(),
            "day": day.isoformat(),
            "pseudonym": pseudonym(secret, day).hex(),
        }
        for secret in (SECRET, bytes(32))
        for day in (date(2026, 11, 30), date(2026, 12, 1), date(2028, 2, 29))
    ]


def _bodies() -> list[dict[str, Any]]:
    day = date(2026, 11, 30)
    reports = [
        Report(bytes([9 - number] * 16), day, name, 1, cohort, payload, "conformance")
        for number, (name, cohort, payload) in enumerate(
            [("colour", 0, b"\x02"), ("homepage", 17, bytes(range(16))), ("switch", 0, b"\x01")]
        )
    ]
    name = pseudonym(SECRET, day)
    return [
        {
            "path": path,
            "day": day.isoformat(),
            "pseudonym": name.hex(),
            "reports": [
                {
                    "id": report.id.hex(),
                    "metric": report.metric,
                    "revision": report.revision,
                    "cohort": report.cohort,
                    "payload": report.payload.hex(),
                }
                for report in reports
            ],
            "body": encode_batch(day, name, reports, listed).decode(),
        }
        for path, listed in (("/v1/reports", "reports"), ("/v1/retractions", RETRACTIONS))
    ]
