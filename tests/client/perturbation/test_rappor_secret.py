"""With a device's old secret our client gives the bits of Google's clients, else its own."""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import json
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
from tests.client.perturbation.mechanisms.contract import (
    MechanismContract,
    bit_counts,
    check_law,
    check_rates,
    letters,
    metric_with,
    seeded,
)
from tests.client.perturbation.mechanisms.exact_law import report_law
from tests.harness.hmac_drbg import HmacDrbg
from tests.harness.rappor_secret import cohort_of_secret, permanent_stream

from rumor_client.perturbation.mechanisms.rappor import RapporPerturber
from rumor_client.perturbation.randomness import Randomness, permanent_randomness
from rumor_client.perturbation.rappor_secret import respond
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.probability import ONE
from rumor_shared.rappor_md5 import RapporClient, bloom_bits, effective_f

DATA = Path(__file__).parents[2] / "data" / "rappor"
VECTORS = json.loads((DATA / "vectors.json").read_text(encoding="utf-8"))
THEIRS = VECTORS["their_tests"]
PYTHON, CPP, JAVA, EXACT = (
    RapporClient.PYTHON,
    RapporClient.CPP,
    RapporClient.JAVA,
    RapporClient.EXACT,
)
# The /dev/urandom of encoder_unittest.cc.
RAMP = bytes(17 * i % 256 for i in range(1024))


def half_f(f: float, client: RapporClient) -> int:
    """Return f/2 of a client over 2**64."""
    return int(effective_f(Fraction(Decimal(repr(f))), client) / 2 * ONE)


def bloom_of(value: str, cohort: int, hashes: int, bits: int, client: RapporClient) -> int:
    """Return a filter as the integer whose bit i is Bloom bit i."""
    return sum({1 << bit for bit in bloom_bits(value.encode(), cohort, hashes, bits, client)})


def permanent_of(
    client: RapporClient, secret: bytes, encoder_id: str, bloom: int, bits: int, f: float
) -> int:
    """Return a client's permanent answer to a filter."""
    stream = permanent_stream(client, secret, encoder_id, bloom, bits)
    return respond(bloom, bits, half_f(f, client), stream)


def permanent_by(client: RapporClient, row: dict[str, Any]) -> int:
    """Return the permanent answer of a row of vectors, from its secret and value."""
    secret = bytes.fromhex(row["user_secret_hex"]) if "user_secret_hex" in row else row["secret"]
    raw = secret if isinstance(secret, bytes) else secret.encode()
    bloom = bloom_of(row["value"], row["cohort"], row["h"], row["k"], client)
    return permanent_of(client, raw, row["encoder_id"], bloom, row["k"], row["f"])


def ramp_mask(offset: int, probability: float, bits: int) -> int:
    """Return C++'s mask: bit i is set iff byte i of the ramp is below uint8(256 probability)."""
    threshold = int(probability * 256) & 255
    drawn = RAMP[offset : offset + bits]
    return sum((byte < threshold) << i for i, byte in enumerate(drawn))


def irr_by_ramp(prr: int, bits: int, p: float, q: float) -> int:
    """Return C++'s instantaneous response on the ramp, 32 bits at a time, the highest first."""
    reported, offset = 0, 0
    for top in range(bits, 0, -32):
        width = min(32, bits)
        p_mask, q_mask = ramp_mask(offset, p, width), ramp_mask(offset + width, q, width)
        offset = (offset + 2 * width) % len(RAMP)
        part = prr >> max(0, top - 32) & ((1 << width) - 1)
        reported |= (p_mask & ~part | q_mask & part) << max(0, top - 32)
    return reported


class Masks(Randomness):
    """Randomness that answers a vector with p's mask where its bits are clear, else with q's."""

    def __init__(self, p_mask: int, q_mask: int) -> None:
        super().__init__(io.BytesIO().read)
        self.masks = p_mask, q_mask

    def bits(self, count: int, set_mask: int, if_set: int, if_clear: int) -> int:
        """Return the masks, put together as the set bits say."""
        p_mask, q_mask = self.masks
        return q_mask & set_mask | p_mask & ~set_mask


def google_metric(**fields: Any) -> Metric:
    """Return a metric with Google's hashing."""
    return metric_with("rappor", hashing="rappor_md5", **fields)


# ---------------------------------------------------------------- Python


@pytest.mark.parametrize(
    "rows",
    [
        VECTORS["python_client"]["prr_masks"],
        THEIRS["client/python/rappor_test.py::testGetPrr (printed)"],
    ],
    ids=["generated", "testGetPrr"],
)
def test_python_masks(rows: list[dict[str, Any]]) -> None:
    """Every noise and uniform mask of Python follows from the HMAC of its secret and word."""
    for row in rows:
        secret = bytes.fromhex(row["secret_hex"]) if "secret_hex" in row else row["secret"].encode()
        word = bytes.fromhex(row["word_hex"]) if "word_hex" in row else row["word"].encode()
        digest = hmac.digest(secret, word, hashlib.sha256)
        k, noise = row["num_bits"], half_f(row["prob_f"], PYTHON)
        everything = (1 << k) - 1
        from_clear = respond(0, k, noise, Randomness(io.BytesIO(digest).read))
        from_set = respond(everything, k, noise, Randomness(io.BytesIO(digest).read))
        assert from_clear == row["uniform"] & row["f_mask"]
        assert from_set == from_clear | everything & ~row["f_mask"]
        if len(word) == 4:
            bloom = int.from_bytes(word, "big")
            stream = permanent_stream(PYTHON, secret, "", bloom, k)
            assert respond(0, k, noise, stream) == from_clear


def test_python_encoder() -> None:
    """Filter, permanent and instantaneous answer of the shipped mechanism are Python's, given its
    secret and its masks.
    """
    for row in VECTORS["python_client"]["encode_mockrandom"]:
        params = row["params"]
        metric = google_metric(
            client="python",
            bits=params["k"],
            hashes=params["h"],
            f=params["f"] or 0,
            p=params["p"],
            q=params["q"],
        )
        mechanism = cast(Rappor, metric.mechanism)
        bloom = bloom_of(row["value"], row["cohort"], params["h"], params["k"], PYTHON)
        assert bloom == row["bloom"]
        stream = permanent_stream(PYTHON, row["secret"].encode(), "", bloom, params["k"])
        answer = RapporPerturber(metric).permanent(row["value"], row["cohort"], stream)
        assert int.from_bytes(answer, "little") == row["prr"]
        payload = RapporPerturber(metric).instantaneous(answer, Masks(row["p_mask"], row["q_mask"]))
        reported = int.from_bytes(payload, "little")
        assert reported == row["irr"]
        assert f"{reported:0{mechanism.bits}b}" == row["irr_string"]


def test_python_test_encoder() -> None:
    """testEncoder of Python: filter 8256, permanent answer 57576, report 64493."""
    row = THEIRS["client/python/rappor_test.py::testEncoder"]
    params, cycle = row["params"], [0.0, 0.6, 0.0]
    bloom = bloom_of(row["value"], row["cohort"], params["h"], params["k"], PYTHON)
    prr = permanent_of(PYTHON, row["secret"].encode(), "", bloom, params["k"], params["f"])
    assert {"bloom": bloom, "prr": prr} == row["generated_intermediates"]
    p_mask, q_mask = (
        sum((cycle[i % 3] < params[key]) << i for i in range(params["k"])) for key in "pq"
    )
    assert p_mask & ~prr | q_mask & prr == row["expected_irr"]


def test_python_boolean() -> None:
    """A boolean's one bit gets Python's permanent answer."""
    for row in VECTORS["python_client"]["encode_bits_boolean_prr"]:
        prr = permanent_of(PYTHON, row["secret"].encode(), "", row["bit"], 1, row["prob_f"])
        assert prr == row["prr"]


# ---------------------------------------------------------------- C++


def test_cpp_encoder() -> None:
    """270 encodings of C++ with HMAC-SHA256: cohort, filter, permanent answer and report."""
    rows = VECTORS["cpp_client_sha256"]["rows"]
    assert len(rows) == 270
    for row in rows:
        secret = row["secret"].encode()
        assert cohort_of_secret(CPP, secret, row["m"], row["k"]) == row["cohort"]
        prr = permanent_by(CPP, row)
        assert prr == row["prr"]
        assert irr_by_ramp(prr, row["k"], row["p"], row["q"]) == row["irr_with_ramp_urandom"]


def test_cpp_vector_encoder() -> None:
    """40 encodings of C++ with HMAC_DRBG, 64 to 1024 bits: cohort and report."""
    rows = VECTORS["cpp_client_drbg_vector"]["rows"]
    assert len(rows) == 40
    for row in rows:
        k = row["k"]
        assert cohort_of_secret(CPP, row["secret"].encode(), row["m"], k) == row["cohort"]
        reported = irr_by_ramp(permanent_by(CPP, row), k, row["p"], row["q"])
        assert reported.to_bytes(k // 8, "big").hex() == row["irr_hex_with_ramp_urandom"]


@pytest.mark.parametrize(
    ("encoder_id", "key"),
    [("client-secret", "asserted_irr"), ("metric-name", "actual_for_metric_name")],
)
def test_cpp_unit_test(encoder_id: str, key: str) -> None:
    """The constants of C++'s unit test, which hold for the encoder id "client-secret" (a dangling
    pointer), and those that hold for the id it meant.
    """
    theirs = THEIRS["client/cpp/encoder_unittest.cc"]
    fixture = theirs["fixture"]
    secret, f, p, q = (fixture[name] for name in ("client_secret", "f", "p", "q"))
    assert cohort_of_secret(CPP, secret.encode(), fixture["m"], 32) == 3
    for name in ("EncodeStringUint32", "EncodeStringUint32Cohort", "EncodeBitsUint32"):
        case = theirs[name]
        cohort = case.get("set_cohort", case.get("cohort"))
        bloom = case.get("bits") or bloom_of(case["value"], cohort, fixture["h"], case["k"], CPP)
        prr = permanent_of(CPP, secret.encode(), encoder_id, bloom, case["k"], f)
        assert irr_by_ramp(prr, case["k"], p, q) == case[key]
    case = theirs["EncodeStringUint64"]
    assert cohort_of_secret(CPP, secret.encode(), fixture["m"], 64) == case["cohort"]
    bloom = bloom_of(case["value"], case["cohort"], fixture["h"], 64, CPP)
    prr = permanent_of(CPP, secret.encode(), encoder_id, bloom, 64, f)
    expected = case["asserted_irr_bytes" if key == "asserted_irr" else key]
    assert list(irr_by_ramp(prr, 64, p, q).to_bytes(8, "big")) == expected


@pytest.mark.parametrize(("client", "bits"), [(CPP, 63), (PYTHON, 33), (PYTHON, 64), (EXACT, 8)])
def test_a_filter_that_no_client_fills_has_no_stream(client: RapporClient, bits: int) -> None:
    """C++ aborts on 63 bits, Python on more than 32, and `exact` is no program."""
    with pytest.raises(ValueError, match="answers permanently"):
        permanent_stream(client, b"secret", "id", 1, bits)


@pytest.mark.parametrize("client", [PYTHON, EXACT])
def test_a_cohort_that_is_given_is_not_derived(client: RapporClient) -> None:
    """Python is told its cohort, so no secret gives one."""
    with pytest.raises(ValueError, match="does not derive"):
        cohort_of_secret(client, b"secret", 64, 32)


def test_drbg_of_nist() -> None:
    """HMAC_DRBG gives the published bits, however entropy and personalisation are split."""
    for row in THEIRS["client/cpp/openssl_hash_impl_unittest.cc"]["HmacDrbg"]:
        whole = row.get("provided_data_hex")
        seed = bytes.fromhex(whole) if whole else (row["key"] + row["value"]).encode()
        assert HmacDrbg(seed).generate(row["bytes"]).hex() == row["out"]


# ---------------------------------------------------------------- Java


def user_secret(name: str) -> bytes:
    """Return the secret of EncoderTest.java: MD5 of a name, three times over."""
    return hashlib.md5(name.encode(), usedforsecurity=False).digest() * 3


def test_java_encoder() -> None:
    """180 reports of Java with p = 0 and q = 1 are its permanent answers: cohort and bits."""
    rows = VECTORS["java_client"]["rows"]
    assert len(rows) == 180
    for row in rows:
        secret = bytes.fromhex(row["user_secret_hex"])
        assert cohort_of_secret(JAVA, secret, row["m"], row["k"]) == row["cohort"]
        report = permanent_by(JAVA, row).to_bytes((row["k"] + 7) // 8, "little")
        assert report.hex() == row["report_bytes_little_endian_hex"]


def test_java_unit_test() -> None:
    """Cohorts, identity encodings and remembered answers that EncoderTest.java asserts."""
    theirs = THEIRS["client/javatest/EncoderTest.java"]
    for row in theirs["getCohort"]:
        assert cohort_of_secret(JAVA, user_secret(row["secret"]), row["m"], 8) == row["cohort"]
    for row in theirs["encodeString_identity (f=0,p=0,q=1,k=12,h=2)"]:
        cohort = cohort_of_secret(JAVA, user_secret(row["secret"]), row["m"], 12)
        assert bloom_of(row["value"], cohort, 2, 12, JAVA) == row["out"]
    for row in theirs["prrMemoizes (k=8,f=.25,p=0,q=1,encoder_id=Foo)"]:
        secret = user_secret(row["secret"])
        assert permanent_of(JAVA, secret, "Foo", row["in"], 8, 0.25) == row["out"]
    suffixes = [cohort_of_secret(JAVA, user_secret("Blotto"), m, 8) for m in (128, 64, 4)]
    assert suffixes[1:] == [suffixes[0] & 63, suffixes[0] & 3]


def test_java_flip_rates() -> None:
    """Over 10,000 users each bit of 253 is permanently set as often as in EncoderTest.java."""
    theirs = THEIRS["client/javatest/EncoderTest.java"]["prrFlipProbability"]
    ones = [0] * 8
    for user in range(10_000):
        secret = user_secret(f"User{user}")
        prr = permanent_of(JAVA, secret, theirs["encoder_id"], theirs["in"], 8, theirs["f"])
        for bit in range(8):
            ones[bit] += prr >> bit & 1
    assert ones == theirs["ones_per_bit"]


# ---------------------------------------------------------------- their reports


def read(folder: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a file of a case."""
    with (DATA / folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("client", [CPP, PYTHON])
def test_reports_of_a_simulation(client: RapporClient) -> None:
    """1000 reports of their simulations: the shipped mechanism makes the same filter and permanent
    answer of the device's value, the device's id being its secret.
    """
    folder = f"reports-{client}-1000"
    (params,) = read(folder, "params.csv")
    k, h, m = (int(params[key]) for key in "khm")
    fields = {key: float(params[key]) for key in "fpq"}
    metric = google_metric(client=client.value, bits=k, hashes=h, cohorts=m, **fields)
    reports, truths = read(folder, "reports.csv"), read(folder, "true_values.csv")
    assert len(reports) == 1000
    for report, truth in zip(reports, truths, strict=True):
        assert report["client"] == truth["client"]
        secret, cohort = report["client"].encode(), int(report["cohort"])
        if client is CPP:
            assert cohort_of_secret(CPP, secret, m, k) == cohort
        else:
            assert int(truth["cohort"]) == cohort
        bloom = bloom_of(truth["value"], cohort, h, k, client)
        assert f"{bloom:0{k}b}" == report["bloom"]
        stream = permanent_stream(client, secret, "metric-name", bloom, k)
        answer = RapporPerturber(metric).permanent(truth["value"], cohort, stream)
        assert f"{int.from_bytes(answer, 'little'):0{k}b}" == report["prr"]


# ---------------------------------------------------------------- the law


def disjoint_values(metric: Metric, cohort: int) -> list[str]:
    """Return two values whose filters share no bit: the worst case."""
    mechanism = cast(Rappor, metric.mechanism)
    found = {mechanism.filter_bits(v.encode(), metric.key, cohort): v for v in letters(20)}
    return list(found.values())[:2]


class TestGoogleRappor(MechanismContract):
    """RAPPOR with Google's hashing and noise."""

    def small_metrics(self) -> list[tuple[Metric, list[str], bool]]:
        """Filters small enough to enumerate one byte of chance a bit; `exact` draws as ever."""
        fields: dict[str, Any] = {"hashes": 1, "cohorts": 4, "f": 0.45, "p": 0.35, "q": 0.75}
        metrics = [
            google_metric(client="cpp", bits=2, **fields),
            google_metric(client="exact", bits=5, **fields),
        ]
        return [(m, disjoint_values(m, 3), True) for m in metrics]

    def wide_metric(self) -> Metric:
        """Three bytes, the last with three bits."""
        return google_metric(client="python", bits=19, cohorts=4, f=0.25, p=0.35, q=0.75)


def test_the_f_of_another_client_is_caught() -> None:
    """Planted fault: noise at C++'s f under a metric that charges for Python's costs more."""
    fields: dict[str, Any] = {"bits": 2, "hashes": 1, "cohorts": 4, "f": 0.45, "p": 0.35, "q": 0.75}
    charged, made = (google_metric(client=client, **fields) for client in ("python", "cpp"))
    laws = [report_law(made, value, 3) for value in disjoint_values(made, 3)]
    with pytest.raises(AssertionError, match="more than what is charged"):
        check_law(charged, laws)


@pytest.mark.parametrize("client", ["python", "cpp", "java", "exact"])
def test_every_bit_at_its_own_rate(client: str) -> None:
    """Over 20,000 devices with streams of their own each bit is set at q* or p* of the client's f:
    false-alarm rate 19e-9.
    """
    fields = {"bits": 19, "hashes": 2, "cohorts": 4, "f": 0.45, "p": 0.35, "q": 0.75}
    metric = google_metric(client=client, **fields)
    mechanism = cast(Rappor, metric.mechanism)
    live, source = seeded(3), random.Random(5)
    payloads = []
    for _ in range(20_000):
        chance = permanent_randomness(source.randbytes(32), metric.name, 1, 3, b"value")
        answer = RapporPerturber(metric).permanent("value", 3, chance)
        payloads.append(RapporPerturber(metric).instantaneous(answer, live))
    owned = set(mechanism.filter_bits(b"value", metric.key, 3))
    rates = [mechanism.q_star if i in owned else mechanism.p_star for i in range(19)]
    check_rates(bit_counts(payloads, 19), rates, len(payloads))


def test_one_stream_under_two_f_gives_bits_away() -> None:
    """Why the device pipeline has streams of its own: on one stream of Google's a permanent 1 under
    a small f beside a 0 under a larger one only ever comes of a Bloom 1.
    """
    small, large = (half_f(f, PYTHON) for f in (0.25, 0.5))
    seen = set()
    for byte in range(256):
        for bloom in (0, 1):
            pair = [
                respond(bloom, 1, f, Randomness(io.BytesIO(bytes([byte])).read))
                for f in (small, large)
            ]
            if pair == [1, 0]:
                seen.add(bloom)
    assert seen == {1}
