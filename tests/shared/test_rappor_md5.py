"""Google's Bloom bits and the f of its clients, against what its programs print."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import isclose
from pathlib import Path
from typing import Any, cast

import pytest

from rumor_shared.epsilon import MICRO
from rumor_shared.errors import RegistryError
from rumor_shared.hashing import hash_bytes
from rumor_shared.mechanisms.rappor import Rappor
from rumor_shared.metric import Metric
from rumor_shared.probability import ONE
from rumor_shared.rappor_md5 import RapporClient, bloom_bits, effective_f
from rumor_shared.registry import registry_of

DATA = Path(__file__).parents[1] / "data" / "rappor"
VECTORS = json.loads((DATA / "vectors.json").read_text(encoding="utf-8"))
THEIRS = VECTORS["their_tests"]
PYTHON, CPP, JAVA, EXACT = (
    RapporClient.PYTHON,
    RapporClient.CPP,
    RapporClient.JAVA,
    RapporClient.EXACT,
)
BASE = {"revision": 1, "mechanism": "rappor", "owner": "o", "purpose": "p"}
USUAL = {"bits": 16, "f": 0.5, "p": 0.5, "q": 0.75}


def metric(**fields: Any) -> Metric:
    """Return a RAPPOR metric made through the registry."""
    table = {**BASE, "expires": date(2030, 1, 1), **fields}
    exact = {k: Decimal(repr(v)) if isinstance(v, float) else v for k, v in table.items()}
    return registry_of({"metrics": {"m": exact}}).metric("m")


def mechanism(**fields: Any) -> Rappor:
    """Return the mechanism of such a metric."""
    return cast(Rappor, metric(**fields).mechanism)


def as_integer(bits: tuple[int, ...]) -> int:
    """Return a filter as the integer whose bit i is Bloom bit i."""
    return sum({1 << bit for bit in bits})


def map_row(value: bytes, k: int, h: int, m: int) -> list[int]:
    """Return the indices of a candidate as a map holds them: cohort * k + bit + 1."""
    return [
        cohort * k + bit + 1
        for cohort in range(m)
        for bit in bloom_bits(value, cohort, h, k, PYTHON)
    ]


def test_python_bloom_bits() -> None:
    """1080 values, cohorts and filters of one to 256 bits set the bits that Python sets."""
    rows = VECTORS["python_client"]["bloom_bits"]
    assert len(rows) == 1080
    for row in rows:
        value = bytes.fromhex(row["value_hex"])
        found = bloom_bits(value, row["cohort"], row["num_hashes"], row["num_bloombits"], PYTHON)
        assert list(found) == row["bits"]


@pytest.mark.parametrize("client", [CPP, EXACT])
def test_cpp_filters(client: RapporClient) -> None:
    """Filters of up to 32 bits are those of C++; what hashes exactly hashes as C++ does."""
    for row in VECTORS["cpp_client_sha256"]["rows"]:
        bits = bloom_bits(row["value"].encode(), row["cohort"], row["h"], row["k"], client)
        assert as_integer(bits) == row["bloom"]


def test_maps_of_candidates() -> None:
    """The rows that hash_candidates writes are the indices cohort * k + bit + 1 of these bits."""
    theirs = THEIRS["bin/hash_candidates_test.py::testHash"]
    for value, row in theirs["rows"].items():
        assert map_row(value.encode(), theirs["k"], theirs["h"], theirs["m"]) == row
    written = VECTORS["python_client"]["hash_candidates_k8h2m8"]["csv"]
    for value, *row in csv.reader(io.StringIO(written, newline="")):
        assert map_row(value.encode(), 8, 2, 8) == [int(index) for index in row]


def test_cohort_is_hashed_big_endian() -> None:
    """A cohort is hashed as four bytes, big-endian (testToBigEndian)."""
    theirs = THEIRS["client/python/rappor_test.py::testToBigEndian"]
    prefixed = bytes.fromhex(theirs["out_hex"]) + b"value"
    assert bloom_bits(b"value", theirs["in"], 4, 256) == bloom_bits(
        prefixed[4:], int.from_bytes(prefixed[:4], "big"), 4, 256
    )
    assert bloom_bits(b"value", 1, 4, 256) != bloom_bits(b"value", 1 << 24, 4, 256)


@pytest.mark.parametrize("client", [PYTHON, CPP, JAVA])
def test_f_of_each_client(client: RapporClient) -> None:
    """Python rounds 128 f up, C++ down, Java to the nearest: .45 is 58, 57 and 58 of 128."""
    measured = VECTORS["quantisation"]["f=0.45"][client.value]
    assert effective_f(Fraction(45, 100), client) == Fraction(measured)
    for eighth in range(9):
        assert effective_f(Fraction(eighth, 8), client) == Fraction(eighth, 8)


def test_java_f() -> None:
    """The f that a Java encoder says it has is ours."""
    for row in VECTORS["java_client"]["rows"]:
        f = Fraction(Decimal(repr(row["f"])))
        assert effective_f(f, JAVA) == Fraction(row["f_quantized"])


@pytest.mark.parametrize(
    ("client", "steps"), [("python", 58), ("cpp", 57), ("java", 58), ("exact", Fraction(576, 10))]
)
def test_registry_takes_the_clients_f(client: str, steps: Fraction) -> None:
    """A metric charges and estimates with the f its devices have; multiples of 1/128 are exact."""
    m = mechanism(hashing="rappor_md5", client=client, **{**USUAL, "f": 0.45})
    half_f = Fraction(m.half_f, ONE)
    assert 0 <= half_f - Fraction(steps) / 256 < Fraction(1, ONE)
    assert client == "exact" or half_f == Fraction(steps) / 256


def test_hashing_is_chosen_by_the_registry() -> None:
    """A metric sets the bits of Google under rappor_md5 and mixed ones otherwise."""
    mixed, google = metric(**USUAL), metric(**USUAL, hashing="rappor_md5")
    hashed = hash_bytes(b"value")
    for cohort in (0, 63):
        found = cast(Rappor, google.mechanism).filter_bits(b"value", google.key, cohort)
        assert found == bloom_bits(b"value", cohort, 2, 16)
        ours = cast(Rappor, mixed.mechanism)
        assert ours.filter_bits(b"value", mixed.key, cohort) == ours.bloom_bits(
            hashed, mixed.key, cohort
        )


def test_every_choice_is_in_the_fingerprint() -> None:
    """Metrics that differ in hashing or in the client alone have fingerprints of their own."""
    choices: list[dict[str, Any]] = [
        {},
        *({"hashing": "rappor_md5", "client": c} for c in RapporClient),
    ]
    prints = {metric(**USUAL, **choice).fingerprint for choice in choices}
    assert len(prints) == 5
    assert metric(**USUAL).fingerprint == metric(**USUAL, hashing="mix").fingerprint
    plain = metric(**USUAL, hashing="rappor_md5").fingerprint
    assert plain == metric(**USUAL, hashing="rappor_md5", client="exact").fingerprint


@pytest.mark.parametrize(
    ("fields", "field", "what"),
    [
        ({"hashing": "md5"}, "hashing", "is not a choice"),
        ({"hashing": 5}, "hashing", "an integer, not text"),
        ({"client": "cpp"}, "client", "is not a known field"),
        ({"hashing": "mix", "client": "cpp"}, "client", "is not a known field"),
        ({"hashing": "rappor_md5", "client": "go"}, "client", "is not a choice"),
        ({"hashing": "rappor_md5", "hashes": 17, "bits": 64}, "hashes", "not in 1 to 16"),
        ({"hashing": "rappor_md5", "hashes": 9, "bits": 257}, "hashes", "not in 1 to 8"),
        ({"hashing": "rappor_md5", "client": "java", "hashes": 9}, "hashes", "not in 1 to 8"),
        ({"hashing": "rappor_md5", "client": "python", "bits": 257}, "bits", "not in 2 to 256"),
        ({"hashing": "rappor_md5", "client": "java", "bits": 4097}, "bits", "not in 2 to 4096"),
        ({"hashing": "rappor_md5", "client": "python", "f": 0.995}, "f", "as the python client"),
        ({"hashing": "rappor_md5", "client": "cpp", "f": 0.005, "p": 0}, "p", "while f = 0"),
        ({"hashing": "rappor_md5", "client": "cpp", "bits": -1}, "bits", "not in 2 to"),
        ({"hashing": "rappor_md5", "client": "cpp", "hashes": -1}, "hashes", "not in 1 to"),
        ({"hashing": "rappor_md5", "client": "cpp", "cohorts": -1}, "cohorts", "not in 1 to"),
        ({"hashing": "rappor_md5", "client": "cpp", "cohorts": 3}, "cohorts", "power of two"),
        *(
            ({"hashing": "rappor_md5", "client": "cpp", key: value}, key, "not a probability")
            for key in "fpq"
            for value in (-0.1, 1.1)
        ),
    ],
)
def test_what_no_client_can_do_is_refused(fields: dict[str, Any], field: str, what: str) -> None:
    """Hashing and clients are known ones, MD5 is long enough for the hashes, and f stays below 1:
    among them what aborts Google's C++ encoder.
    """
    with pytest.raises(RegistryError) as caught:
        metric(**{**USUAL, **fields})
    (problem,) = caught.value.problems
    assert problem.path == f"metrics.m.{field}"
    assert what in problem.what


def test_a_target_has_no_foreign_f() -> None:
    """A metric that counts a client's reports takes that client's f, not one solved for."""
    target = {"bits": 16, "epsilon_infinity": 4, "epsilon_first_report": 1}
    assert mechanism(**target, hashing="rappor_md5").epsilon_infinity == 4 * MICRO
    with pytest.raises(RegistryError, match="which has its own"):
        metric(**target, hashing="rappor_md5", client="java")


def test_a_short_digest_is_refused() -> None:
    """MD5 holds 16 hashes of a byte, and no more."""
    assert len(bloom_bits(b"v", 0, 16, 256)) == 16
    with pytest.raises(ValueError, match="16 hashes"):
        bloom_bits(b"v", 0, 17, 256)


def privacy_rows() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield parameters and what Google's analysis says of them, where a registry may hold them."""
    for row in VECTORS["privacy_formulas"]:
        yield row, row
    for row in VECTORS["r_analysis"]["ComputePrivacyGuarantees"]:
        named = {
            "p_star": row["Effective p"],
            "q_star": row["Effective q"],
            "eps_1": row["e_1"],
            "eps_inf": row["e_inf"],
        }
        yield row, named


def test_privacy_figures_of_the_analysis() -> None:
    """q*, p* and both epsilon are those of Google's R code, rounded up to a micro-epsilon."""
    seen = 0
    for row, theirs in privacy_rows():
        fields = {key: row[key] for key in "fpq"} | {"hashes": row["h"], "bits": row.get("k", 32)}
        if fields["bits"] < 2:
            continue  # a boolean is no filter; test_rappor_import decodes one
        m = mechanism(hashing="rappor_md5", **{k: _tidy(v) for k, v in fields.items()})
        assert isclose(float(m.q_star), theirs["q_star"], rel_tol=1e-9)
        assert isclose(float(m.p_star), theirs["p_star"], rel_tol=1e-9)
        assert abs(m.epsilon_report - theirs["eps_1"] * MICRO) <= 1.001
        if m.epsilon_infinity is None:
            assert theirs["eps_inf"] in ("Inf", None)
        else:
            assert abs(m.epsilon_infinity - theirs["eps_inf"] * MICRO) <= 1.001
        seen += 1
    assert seen >= 18


def test_effective_rates_of_chromium() -> None:
    """Chromium's metric has q* = .65625 and p* = .59375."""
    row = THEIRS["chromium components/rappor/rappor_metric_unittest.cc (comment)"]
    m = mechanism(hashing="rappor_md5", bits=16, **{key: row[key] for key in "fpq"})
    assert (m.q_star, m.p_star) == (Fraction(row["q_star"]), Fraction(row["p_star"]))


def _tidy(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value


def test_bits_of_a_wide_filter() -> None:
    """Beyond 256 bits C++ takes two bytes a hash, little-endian; Java always two, big-endian."""
    digest = bloom_bits(b"v", 3, 16, 256)
    pairs = list(zip(digest[::2], digest[1::2], strict=True))
    assert list(bloom_bits(b"v", 3, 8, 1000, CPP)) == [(a + 256 * b) % 1000 for a, b in pairs]
    assert list(bloom_bits(b"v", 3, 8, 1000, JAVA)) == [(256 * a + b) % 1000 for a, b in pairs]
    assert list(bloom_bits(b"v", 3, 8, 100, PYTHON)) == [byte % 100 for byte in digest[:8]]
